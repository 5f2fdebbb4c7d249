package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkFS are file systems on which locks or syncs are someone else's promise, by the magic numbers of statfs(2).
var networkFS = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC:  "SMB",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.NCP_SUPER_MAGIC:   "NCP",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.V9FS_MAGIC:        "9P",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	unix.FUSE_SUPER_MAGIC:  "FUSE, which may be a network",
	0x0bd00bd0:             "Lustre",
	0x47504653:             "GPFS",
	0x01161970:             "GFS2",
	0x786f4256:             "a VirtualBox share",
}

// refuseNetworkFS refuses a directory on a network file system.
func refuseNetworkFS(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("find out what file system %s is on: %w", dir, err)
	}
	// The width and sign of the field differ between architectures; the number does not.
	if name, bad := networkFS[int64(uint32(st.Type))]; bad {
		return errNetworkFS(dir, name)
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/clewops/clew/internal/dispatch"
)

// Stopped says why an instance counts as stopped, "" when nothing shows it: it recorded its end; a recovery-admin
// attests it; its host has booted since; or it ran on this host and boot and its lock file, the very one by device and
// inode, is free. Never a heartbeat, a timer or a lost session: a process that is only slow still sends.
//
// here is where the caller runs; free is LockFree, or what stands for it.
func Stopped(i Instance, here dispatch.Host, free func(path string, device, inode uint64) bool) string {
	switch {
	case i.EndedRevision != 0:
		return "it recorded its end"
	case i.AttestedBy != "":
		return fmt.Sprintf("%s attests that it has ended", i.AttestedBy)
	case i.Host.BootID == "" || here.BootID == "":
		return ""
	case i.Host.BootID != here.BootID:
		// Machine ids are copied with images, so the name must agree too before another boot means a later boot.
		if i.Host.ID != "" && i.Host.ID == here.ID && i.Host.Name == here.Name {
			return "its host has booted since"
		}
		return ""
	case i.Host.ID != here.ID:
		return "" // a container of another image on the same kernel: its paths are not ours
	case i.LockPath != "" && free(i.LockPath, i.LockDevice, i.LockInode):
		return "its lock file is free"
	}
	return ""
}

// InstanceStopped says why the instance counts as stopped, "" when nothing shows it, as for one that the store does not
// know. What was shown stays true: a process does not start again under its id.
func (s *Store) InstanceStopped(ctx context.Context, id string) (string, error) {
	var why string
	err := s.view(ctx, func(tx *Tx) (err error) {
		why, err = tx.instanceStopped(id)
		return err
	})
	return why, err
}

func (tx *Tx) instanceStopped(id string) (string, error) {
	i, err := scanInstance(tx.row(selectInstance+` WHERE id = $1`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return Stopped(i, *tx.store.here.Load(), LockFree), nil
}

// LockFree says whether the file at the path is the one with this device and inode, and nobody holds its lock. A file
// that is absent, another, or cannot be opened proves nothing.
func LockFree(path string, device, inode uint64) bool {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close() // lets go of the lock again
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || uint64(st.Dev) != device || st.Ino != inode { // Dev is signed on darwin
		return false
	}
	return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/testing/protocmp"
)

// TestParseSocket reads lines of the kernel's tables: a retransmitting connection, a mapped address, a listener.
func TestParseSocket(t *testing.T) {
	for name, c := range map[string]struct {
		table, line string
		want        *machine.ConnectRecord
	}{
		"retransmitting": {
			table: "tcp",
			line:  "   3: 0AE9010A:A1B2 0BE9010A:C350 01 00001A2B:00000000 01:00000121 00000004     0        0 81234 4 0000000000000000 3200 4 30 10 -1",
			want: &machine.ConnectRecord{
				L4Proto: "tcp", Localip: "10.1.233.10", Localport: 0xa1b2, Remoteip: "10.1.233.11", Remoteport: 50000,
				State: machine.ConnectRecord_ESTABLISHED, Txqueue: 0x1a2b, Tr: machine.ConnectRecord_ON, Timerwhen: 0x121,
				Retrnsmt: 4, Inode: 81234, Ref: 4,
			},
		},
		"mapped": {
			table: "tcp6",
			line:  "   0: 0000000000000000FFFF00000BE9010A:C350 0000000000000000FFFF00000AE9010A:A1B2 08 00000000:00000010 00:00000000 00000000   50        0 7 1 ffff888100000000 20 4 0 10 -1",
			want: &machine.ConnectRecord{
				L4Proto: "tcp6", Localip: "10.1.233.11", Localport: 50000, Remoteip: "10.1.233.10", Remoteport: 0xa1b2,
				State: machine.ConnectRecord_CLOSEWAIT, Rxqueue: 16, Uid: 50, Inode: 7, Ref: 1, Pointer: 0xffff888100000000,
			},
		},
		"listening": {
			table: "tcp6",
			line:  "   0: 00000000000000000000000000000000:C350 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 9 1 0000000000000000 100 0 0 10 0",
			want: &machine.ConnectRecord{
				L4Proto: "tcp6", Localip: "::", Localport: 50000, Remoteip: "::", State: machine.ConnectRecord_LISTEN, Inode: 9, Ref: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseSocket(c.table, c.line)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}

	for _, line := range []string{"", "0: 1 2 3", "   0: 0AE9010A:A1B2 0BE9010A:C350 0G 0:0 0:0 0 0 0 0 0 0"} {
		if _, err := parseSocket("tcp", line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

package drill

import (
	"slices"
	"testing"
)

func TestParseSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0A00000A:D431 0B00000A:C350 04 00000AC4:00000000 01:00000019 00000003     0        0 0 5 0 20 4 30 10 -1
`
	got, err := parseSockets(table)
	want := []kernelSocket{{"C350", "00000000:0000", tcpListen, 0}, {"D431", "0B00000A:C350", "04", 0xac4}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"header\n 0: x", "header\n 0: a b c d", "header\n 0: a:b c:d 01 zz:0"} {
		if got, err := parseSockets(bad); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
	if got, err := parseSockets("header\n"); err != nil || len(got) != 0 {
		t.Errorf("an empty table gave %+v, %v", got, err)
	}
}

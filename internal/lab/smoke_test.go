package lab_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/clewops/clew/internal/lab"
	"github.com/siderolabs/talos/pkg/machinery/client"
)

func TestSmoke(t *testing.T) {
	for _, mode := range []lab.LinkMode{lab.LinksNone, lab.LinksUserland, lab.LinksNetns} {
		t.Run(string(mode), func(t *testing.T) {
			exe, _ := os.Executable()
			dir, err := os.MkdirTemp("", "x")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			l, err := lab.Up(t.Context(), lab.Config{Dir: dir, Exe: exe, Tied: true, Links: mode})
			if err != nil {
				t.Fatal(err)
			}
			t.Log("up", time.Since(start))
			c, err := client.New(t.Context(), client.WithConfigFromFile(l.Talosconfig()))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, n := range l.Nodes() {
				v, err := c.Version(client.WithNode(t.Context(), n.Address()))
				t.Log(n.Name(), n.Address(), n.PID(), v, err)
				if err != nil {
					b, _ := os.ReadFile(n.Dir() + "/log")
					t.Error(string(b))
				}
				st, err := n.Status(t.Context())
				t.Logf("%+v %v", st, err)
			}
			v, err := c.Version(client.WithNodes(t.Context(), l.Nodes()[0].Address(), l.Nodes()[1].Address(), "127.0.0.99"))
			t.Log(v, err)
			start = time.Now()
			if err := l.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			t.Log("down", time.Since(start))
		})
	}
}

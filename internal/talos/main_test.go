package talos_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/talos"
)

// TestMain lets the test binary be the nodes of the labs that the tests make, and a sender to be killed.
func TestMain(m *testing.M) {
	if code, was := lab.Child(os.Args[1:]); was {
		os.Exit(code)
	}
	if len(os.Args) == 5 && os.Args[1] == "send" {
		if err := send(os.Args[2], os.Args[3], os.Args[4] == "unguarded"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// send connects to the node at address, prints its own side of the connection, and on a line of input sends a changed
// configuration and waits for the answer without an end.
func send(talosconfig, address string, unguarded bool) error {
	ctx := context.Background()
	config, err := talos.LoadConfig(talosconfig, "")
	if err != nil {
		return err
	}
	c, err := talos.Dial(ctx, config, talos.Target{Address: address, Route: dispatch.Direct},
		talos.Options{WithoutAbort: unguarded})
	if err != nil {
		return err
	}
	_, active, err := c.Read(ctx)
	if err != nil {
		return err
	}
	fmt.Println(c.LocalAddr())
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	out := c.Apply(ctx, changed(active, "of a dead sender"), noReboot())
	return fmt.Errorf("it was answered: %+v", out)
}

// Command demo runs Clew's main job on a practice cluster and shows it: a change that arrives, an approval that is
// revoked in time, and a send whose answer is lost. It types what a person would type, at a terminal of its own; every
// line below a "$" is the program's, and the program's exit codes are checked. Lines that start with "#" are captions.
//
// usage: demo PATH-OF-CLEW
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// limit bounds the whole demo; its waits are on what the program prints, never on time.
const limit = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo PATH-OF-CLEW")
		os.Exit(64)
	}
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, clew string) (err error) {
	clew, err = filepath.Abs(clew)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "clew-demo-")
	if err != nil {
		return err
	}
	d := &demo{ctx: ctx, clew: clew, dir: dir, out: os.Stdout}
	defer func() {
		// Also after an interrupt: nothing of the lab stays behind.
		d.ctx = context.WithoutCancel(ctx)
		_, derr := d.clewQuiet("lab", "down")
		err = errors.Join(err, derr, os.RemoveAll(dir))
	}()
	for _, scene := range []func() error{d.begin, d.change, d.revokedInTime, d.answerLost, d.end} {
		if err := scene(); err != nil {
			return err
		}
	}
	return nil
}

var (
	planID      = regexp.MustCompile(`\bp-[a-z0-9]{3,8}\b`)
	operationID = regexp.MustCompile(`\bop-[a-z0-9]{3,8}\b`)
)

func (d *demo) begin() error {
	d.caption("A practice cluster: one control plane and two workers, each a process that speaks the Talos API.")
	d.netns = os.Getuid() == 0
	links := "userland"
	if d.netns {
		links = "netns" // real kernel TCP between the nodes: evidence about connections can be had
	}
	if err := d.expect(0, "lab", "up", "--links", links); err != nil {
		return err
	}
	d.caption("Its machines become known, and what its workers run is accepted as the baseline.")
	return d.expect(0, "machine", "import", "--talosconfig", filepath.Join(d.dir, "state", "clew", "lab", "talosconfig"))
}

func (d *demo) change() error {
	d.caption("A label for worker-1: plan, diff, approval, dispatch and verification in one command.")
	if err := d.expect(0, "apply", "-n", "worker-1", "-p", label("rack", "r1")); err != nil {
		return err
	}
	d.caption("The node runs it, and the log says who did what.")
	if err := d.expect(0, "machine", "show", "worker-1", "--refresh"); err != nil {
		return err
	}
	if err := d.expect(0, "log", "node/worker-1"); err != nil {
		return err
	}
	return d.expect(0, "verify")
}

func (d *demo) revokedInTime() error {
	d.caption("An approval that is revoked before the commitment: nothing reaches the node.")
	plan, err := d.approvedPlan("worker-1", label("rack", "r2"))
	if err != nil {
		return err
	}
	if err := d.expect(0, "plan", "revoke", plan, "--reason", "wrong rack"); err != nil {
		return err
	}
	return d.expect(3, "dispatch", plan)
}

func (d *demo) answerLost() error {
	d.caption("The node is slow, and the link to it is cut while a send is under way.")
	plan, err := d.approvedPlan("worker-2", label("rack", "r7"), "--transport-deadline", "5s")
	if err != nil {
		return err
	}
	newer, err := d.approvedPlan("worker-2", label("rack", "r8"))
	if err != nil {
		return err
	}
	if err := d.expect(0, "lab", "fault", "worker-2", "delay-before", "3s"); err != nil {
		return err
	}
	sent, err := d.start("dispatch", plan, "--wait", "0s")
	if err != nil {
		return err
	}
	if err := sent.waitFor("sending"); err != nil {
		return err
	}
	if err := d.expect(0, "lab", "fault", "client:worker-2", "cut"); err != nil {
		return err
	}
	if err := sent.expectExit(4); err != nil {
		return err
	}
	op := operationID.FindString(sent.output())
	if op == "" {
		return errors.New("the dispatch named no operation")
	}
	d.caption("Nobody knows whether it arrived. A newer plan for the same machine has to wait:")
	if err := d.expect(3, "dispatch", newer); err != nil {
		return err
	}
	d.caption("The link is whole again. The outcome is settled on what can be shown.")
	if err := d.expect(0, "lab", "fault", "client:worker-2", "heal"); err != nil {
		return err
	}
	settle := []string{"settle", op, "--wait", "90s"}
	if !d.netns {
		// A userland link ends TCP in between, so evidence is not available: a person decides, after the settle time.
		settle = append(settle, "--judge", "the link was cut by hand and is whole again")
	}
	if err := d.expect(0, settle...); err != nil {
		return err
	}
	if err := d.expect(0, "machine", "show", "worker-2", "--refresh"); err != nil {
		return err
	}
	return d.expect(0, "log", op)
}

func (d *demo) end() error {
	d.caption("The ledger's chain and the contract's invariants hold:")
	if err := d.expect(0, "verify"); err != nil {
		return err
	}
	d.caption("Try next: %s lab up; %s machine import --talosconfig ~/.local/state/clew/lab/talosconfig; %s help", d.clew, d.clew, d.clew)
	return nil
}

// approvedPlan makes a plan and has it approved at the terminal.
func (d *demo) approvedPlan(machine, patch string, flags ...string) (string, error) {
	p, err := d.start(append([]string{"plan", "create", "-n", machine, "-p", patch}, flags...)...)
	if err != nil {
		return "", err
	}
	if err := p.expectExit(0); err != nil {
		return "", err
	}
	plan := planID.FindString(p.output())
	if plan == "" {
		return "", errors.New("plan create named no plan")
	}
	return plan, d.expect(0, "approve", plan)
}

func label(key, value string) string {
	return fmt.Sprintf(`{"machine":{"nodeLabels":{"%s":"%s"}}}`, key, value)
}

// environment is what the demo's person has set: nothing of whoever started the demo but the path and the language.
func environment(dir string) []string {
	env := []string{
		"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"TERM=dumb", "USER=operator",
	}
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PATH=") || strings.HasPrefix(kv, "LANG=") || strings.HasPrefix(kv, "TZ=") {
			env = append(env, kv)
		}
	}
	return env
}

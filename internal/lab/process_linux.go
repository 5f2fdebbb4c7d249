package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// statFields are the fields of /proc/PID/stat from the third, the state, on.
func statFields(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}

	// The second field is the command in parentheses and may hold anything, so counting starts behind it.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("unexpected /proc/%d/stat", pid)
	}

	return fields, nil
}

// startTime says when a process started: the machine's boot and the clock ticks since. A zombie counts as ended.
func startTime(pid int) (string, error) {
	fields, err := statFields(pid)
	if err != nil {
		return "", err
	}

	// The first thread can be dead while others still hold the files: the process has ended when no other is left.
	if tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)); strings.Contains("ZX", fields[0]) && len(tasks) <= 1 {
		return "", errors.Join(errNotRunning, err)
	}

	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}

	return strings.TrimSpace(string(boot)) + "/" + fields[19], nil
}

// stopped says whether a signal has stopped the process.
func stopped(pid int) bool {
	fields, err := statFields(pid)

	return err == nil && fields[0] == "T"
}

// startIn starts cmd in a named network namespace. A child inherits the namespace of the thread that forks it; the
// thread then returns to its own. Leaving it behind would not do: when it is the process's first thread it outlives its
// goroutine, and /proc/self would show the wrong namespace from then on.
func startIn(netns string, cmd *exec.Cmd) error {
	if netns == "" {
		return cmd.Start()
	}

	target, err := os.Open("/run/netns/" + netns)
	if err != nil {
		return err
	}
	defer target.Close()

	runtime.LockOSThread()

	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()

		return err
	}
	defer own.Close()

	if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()

		return fmt.Errorf("entering the network namespace %s: %w", netns, err)
	}

	started := cmd.Start()

	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		// Still locked: nobody else finds himself in that namespace.
		return errors.Join(started, fmt.Errorf("returning from the network namespace %s: %w", netns, err))
	}

	runtime.UnlockOSThread()

	return started
}

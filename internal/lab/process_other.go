//go:build !linux

package lab

import "os/exec"

var errNotHere = &NotOfferedError{Reason: "a lab is offered on Linux only"}

func startTime(int) (string, error) { return "", errNotHere }

func stopped(int) bool { return false }

func startIn(string, *exec.Cmd) error { return errNotHere }

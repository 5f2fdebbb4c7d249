//go:build !linux

package lab

import "os/exec"

var errNotHere = &NotOfferedError{Reason: "a lab is offered on Linux only"}

func startTime(int) (string, error) { return "", errNotHere }

func startIn(string, *exec.Cmd) error { return errNotHere }

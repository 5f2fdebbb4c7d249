package store

import "fmt"

func errNetworkFS(dir, name string) error {
	return fmt.Errorf("%s is on a network file system (%s): SQLite's locks and syncs cannot be relied on there; "+
		"use a local directory, or PostgreSQL", dir, name)
}

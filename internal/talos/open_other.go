//go:build !unix

package talos

const openWithoutWaiting = 0

// Command empty is the floor: what starting a Go program costs.
package main

func main() {}

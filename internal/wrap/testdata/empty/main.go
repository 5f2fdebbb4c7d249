// Command empty does nothing: its start is the floor of what a program costs.
package main

func main() {}

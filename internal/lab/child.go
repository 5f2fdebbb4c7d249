package lab

// Child runs this process as a part of a lab when args are "lab node|link|keep ...", and reports that it did.
//
// A program that calls Up with itself as Config.Exe (a test binary, the drill) calls Child first thing in main or
// TestMain and exits with the code when it returns true. The arguments carry directories and names only, no secret.
func Child(args []string) (code int, was bool) {
	return child(args)
}

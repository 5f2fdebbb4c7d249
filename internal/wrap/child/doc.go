// Package child runs one program as if its caller had started it itself: the same descriptors, environment, terminal,
// process group, signals, stops and end. It decides nothing about the program and knows nothing of what it is.
//
// The program is a member of the wrapper's own process group, so that a pipeline stays one job and the terminal's
// foreground is what the shell made it. Signals that go to the group reach the program without help; those that go to
// the wrapper alone are passed on. Which is which no portable call tells. On Linux a sentinel does: a third member of the
// group that blocks every signal and does nothing, so that what came to the group is pending at it. Elsewhere what a
// terminal sends is guessed.
//
// When the program stops, the wrapper stops in the same way, for the shell to see; when it goes on, it sees to it that
// the program does. When the program ends by a signal, the caller ends this process by the same one (Die).
//
// What cannot be had: SIGKILL and SIGSTOP to the wrapper alone do not reach the program; the status of a death by signal
// says that no core was written.
package child

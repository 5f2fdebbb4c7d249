package notice

import "time"

// Next says what to do, what not to, and when to look again.
type Next struct {
	Do      []string
	Dont    []string
	Recheck time.Time // zero: no time can be named
}

// recheck is how long after a verdict that needs people it is worth looking again.
const recheck = 5 * time.Minute

// Next is the advice that goes with an answer.
func (a Answer) Next() Next {
	switch a.Kind {
	case Explained:
		return Next{
			Do: []string{"wait", "retry the command after the time given"}, Recheck: a.Over,
			Dont: []string{"open an incident", "repair, restart, scale, drain, roll back"},
		}
	case Own:
		return Next{Do: []string{"take this error as your own"}, Dont: []string{"wait for somebody else's work to end"}}
	case Exceeded:
		return Next{
			Do: []string{"stop work on this path", "tell your human this text"}, Recheck: a.At.Add(recheck),
			Dont: []string{"open a second incident", "repair, restart, scale, drain, roll back"},
		}
	case Unexplained:
		return Next{Do: []string{"tell your human now"}, Dont: []string{"repair unasked"}, Recheck: a.At.Add(recheck)}
	default:
		return Next{
			Do: []string{"treat as unexplained", "tell your human"}, Recheck: a.At.Add(time.Minute),
			Dont: []string{"repair unasked", "take silence for an explanation"},
		}
	}
}

package executor

// The fault matrix. Each row is one durable or remote step of a scenario, the columns are what goes wrong at it. A cell
// says, in the words of the dispatch contract, what the store shows when it is opened anew after the process is over, and
// where the normal path, run again by another process, brings it:
//
//	fails        the step does not happen, and its caller is told so
//	lost         it does not happen, and no answer comes: a COMMIT that was rolled back, a request that got lost
//	took effect  it happens, and no answer comes
//	crash after  it happens, and the process ends there
//
// A cell with one word says that both are the same. "-" stands where a column is no different from its neighbour: a read
// that failed is one that got lost.
type row struct {
	step                     string
	nth                      int
	fails, lost, took, crash string
}

// Cells that come often.
const (
	noPlan     = "no plan > completed"
	proposed   = "proposed > completed"
	approved   = "approved > completed"
	committed  = "committed > completed"
	sending    = "sending > completed"
	verifying  = "verifying > completed"
	unresolved = "unresolved > completed"
	completed  = "completed"
)

var dispatchRows = []row{
	// What was not recorded did not happen; what was is found again by its digest, its key or its plan.
	{"the start of an instance", 1, noPlan, noPlan, noPlan, noPlan},
	{"artifact ", 1, noPlan, noPlan, noPlan, noPlan},
	{"dial", 1, noPlan, "-", noPlan, noPlan},
	{"the start of a read", 1, noPlan, noPlan, noPlan, noPlan},
	{"read", 1, noPlan, "-", noPlan, noPlan},
	{"a reading", 1, noPlan, noPlan, noPlan, noPlan},
	{"the plan for ", 1, noPlan, noPlan, proposed, proposed},
	{"the approval of ", 1, proposed, proposed, approved, approved},

	// Evidence: nothing is recorded but reads.
	{"dial", 2, approved, "-", approved, approved},
	{"the start of a read", 2, approved, approved, approved, approved},
	{"read", 2, approved, "-", approved, approved},
	{"a reading", 2, approved, approved, approved, approved},
	{"baseline", 1, completed, "-", completed, approved},

	// The two transactions: a lost COMMIT is looked up.
	{"the commitment of ", 1, approved, approved, completed, committed},
	{"an attempt of ", 1, committed, committed, completed, sending},

	// The send guard: without the head on disk and the attempt still its own, nothing is sent.
	{"sync head", 1, unresolved, "-", unresolved, sending},
	{"still mine", 1, unresolved, "-", unresolved, sending},
	{"send", 1, unresolved, unresolved, unresolved, sending},

	// The answer is recorded until it is; a completion observation ends it.
	{"the response to an attempt of ", 1, completed, completed, completed, verifying},
	{"the start of a read", 3, completed, completed, completed, verifying},
	{"read", 3, completed, "-", completed, verifying},
	{"a reading", 3, completed, completed, completed, verifying},
	{"the end", 1, completed, completed, completed, completed},
}

// settleRows: an earlier executor lost a request on its way. Evidence accounts for it, and the retry lands.
var settleRows = []row{
	{"the takeover", 1, unresolved, unresolved, unresolved, unresolved},
	{"sockets", 1, completed, "-", completed, unresolved},
	{"dial", 1, completed, "-", completed, unresolved},
	{"the start of a read", 1, completed, completed, completed, unresolved},
	{"read", 1, completed, "-", completed, unresolved},
	{"a reading", 1, completed, completed, completed, unresolved},
	{"dial", 2, completed, "-", completed, unresolved},
	{"the start of a read", 2, completed, completed, completed, unresolved},
	{"read", 2, completed, "-", completed, unresolved},
	{"a reading", 2, completed, completed, completed, unresolved},
	{"an accounting by evidence", 1, unresolved, unresolved, unresolved, unresolved},
	{"dial", 3, completed, "-", completed, unresolved},
	{"the start of a read", 3, completed, completed, completed, unresolved},
	{"read", 3, completed, "-", completed, unresolved},
	{"a reading", 3, completed, completed, completed, unresolved},
	{"dial", 4, completed, "-", completed, unresolved},
	{"the start of a read", 4, completed, completed, completed, unresolved},
	{"read", 4, completed, "-", completed, unresolved},
	{"a reading", 4, completed, completed, completed, unresolved},
	{"baseline", 1, completed, "-", completed, unresolved},
	{"the classification", 1, unresolved, unresolved, unresolved, unresolved},
	{"an attempt of ", 1, unresolved, unresolved, completed, sending},
	// What was not sent, or lost once more, is looked into again while the settling waits.
	{"sync head", 1, completed, "-", completed, sending},
	{"still mine", 1, completed, "-", completed, sending},
	{"send", 1, completed, completed, completed, sending},
	{"the response to an attempt of ", 1, completed, completed, completed, verifying},
	{"a reading", 5, completed, completed, completed, verifying},
	{"the end", 1, completed, completed, completed, completed},
}

// same is a row in which every column says the same.
func same(step string, nth int, cell string) row { return row{step, nth, cell, cell, cell, cell} }

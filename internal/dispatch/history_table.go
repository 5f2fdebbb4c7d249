package dispatch

// historyTable restates which state may follow which, and on what event. A test compares it with Table: two tables that
// were written apart agree, and the check does not rest on the one that it checks.
var historyTable = map[[2]State][]EventKind{
	{Absent, Committed}:      {Commit},
	{Absent, Completed}:      {AdoptRecord},
	{Committed, Sending}:     {RecordAttempt},
	{Committed, Unresolved}:  {AttemptRefused, Takeover},
	{Sending, Verifying}:     {Accept},
	{Sending, Rejected}:      {Reject},
	{Sending, Unresolved}:    {Reject, Lose, Takeover},
	{Verifying, Completed}:   {Complete},
	{Verifying, Failed}:      {Contradict},
	{Verifying, Unresolved}:  {Overdue, Takeover},
	{Unresolved, Completed}:  {Complete},
	{Unresolved, Failed}:     {Contradict},
	{Unresolved, Rejected}:   {LateReject},
	{Unresolved, Sending}:    {RecordAttempt},
	{Unresolved, Cancelled}:  {Cancel},
	{Unresolved, Unresolved}: {Takeover},
}

// eventOf is the event that an entry of this kind claims.
func eventOf(kind string, claimed EventKind) EventKind {
	switch kind {
	case EntryCommitted:
		return Commit
	case EntryAdopted:
		return AdoptRecord
	case EntryAttempt:
		return RecordAttempt
	case EntryTakenOver:
		return Takeover
	}
	return claimed
}

// brokenBy is the invariant that an impossible transition breaks.
func brokenBy(from, to State) int {
	switch {
	case from.Terminal(), to.Terminal():
		return 5
	case to == Sending:
		return 17
	case to == Verifying:
		return 6
	case from == Absent:
		return 2
	}
	return 0
}

package drill

import "slices"

// topic is what some rows show together, in plain words.
type topic struct {
	title string
	rows  string // as Select has it
	text  string
}

// topics tell what the rows are about. Each row belongs to one.
var topics = []topic{
	{
		"An approval that was taken back authorizes nothing", "001-006,031",
		"Approvals, identities and plans are taken back at every step of a dispatch: before the commitment, while it is under way, between it " +
			"and the attempt, after the attempt. Nothing is sent that was not recorded as an attempt before; no attempt is recorded after the " +
			"revocation. What was recorded before it is sent: that is said, not hidden.",
	},
	{
		"One executor owns an operation", "007-008,034,035,037,048",
		"Executors are stopped, suspended and continued, and others take over. An owner that lost its operation records and moves nothing any " +
			"more; of two that take over at once one wins; a process that is not shown to have stopped keeps what it owns.",
	},
	{
		"One change of a machine at a time", "009-011",
		"A second executor of the same plan, and a second plan for the same machine, are refused while the first is under way, and afterwards " +
			"where they were made for what no longer runs.",
	},
	{
		"A lost answer decides nothing", "012-015,040,041,045",
		"Partitions, paused nodes and lost addresses leave an operation unresolved, until its attempt is accounted for by what the " +
			"connections show, or by a named person after the settle time. A request that lands later all the same is detected.",
	},
	{
		"The store may go away at any point", "016,036,047,051",
		"The database is killed, cut off, locked, full, read-only and damaged. What was acknowledged is kept, what was not is found out, and " +
			"nothing is sent without its record.",
	},
	{
		"Executors may die, and nodes be out of reach, at any point", "017-021",
		"Executors are killed at each of their steps, and reads are cut off. Whoever goes on finds what the contract names, and nothing is sent twice.",
	},
	{
		"What a node refuses is known for what it is", "022,042,043",
		"Rejections that Talos gives before it changes anything end an operation; an error after a change does not. While a tried change is " +
			"pending nothing is sent, so that it still rolls back.",
	},
	{
		"Plans hold what they bind", "030,044",
		"Expiry, age of the evidence, number of attempts and mode are bounds: beyond them a plan is refused, at planning already where that is possible.",
	},
	{
		"Freeze, drift, adoption and revert", "032,046",
		"A frozen machine, and one that was changed behind the ledger's back, takes no plan but the one that binds what is known; an adoption " +
			"accepts what was read after its approval, and nothing else.",
	},
	{"Rollouts keep their limits", "033", "The number of machines under change at once, and of failures, is counted under a lock."},
	{
		"Readings are ordered by when they began", "038",
		"A reading that began before a fact does not count as one after it, however late it is recorded.",
	},
	{
		"A restored store authorizes nothing old", "039",
		"After a restore nothing is dispatched until a person has entered recovery, and then machine by machine.",
	},
	{
		"Late answers are facts", "049",
		"An answer that comes after its operation was decided about stops a retry, or raises an alert.",
	},
	{"A clock that steps lets nothing stale pass", "050", "Where the store's clock is behind what was recorded, commitments and attempts fail until it has caught up."},
	{"Revocation is not starved", "052", "An identity is revoked while many workers commit."},
	{"The protocol's own tests", "023", "The histories that the contract is tested with are played on the very stores."},
}

// rowsOf are the rows of a topic that this program has.
func (t topic) rowsOf() []Row {
	var rows []Row
	for _, r := range Rows() {
		if slices.ContainsFunc(t.groups(), func(g [2]string) bool { return g[0] <= r.Group() && r.Group() <= g[1] }) {
			rows = append(rows, r)
		}
	}
	return rows
}

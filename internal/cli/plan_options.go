package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
)

// Defaults of what a plan binds.
const (
	defaultMaxAge            = 30 * time.Second
	leastAge                 = time.Second // a reading takes a moment itself
	defaultTransportDeadline = 10 * time.Second
	defaultVerifyDeadline    = 60 * time.Second
	defaultAttempts          = 3
	defaultExpiry            = 24 * time.Hour
	defaultStage             = "running"
)

// planOptions are the flags that make a plan.
type planOptions struct {
	node      string
	file      string
	patches   []string
	adopt     bool
	revert    bool
	route     string
	expires   time.Duration
	maxAge    time.Duration
	transport time.Duration
	verify    time.Duration
	attempts  int
	approvals int
	unready   bool
	rollout   string
	reason    string
	key       string
}

// bind adds the flags that plan create and apply share.
func (o *planOptions) bind(a *app, c *cobra.Command) {
	*o = planOptions{
		expires: defaultExpiry, maxAge: defaultMaxAge, transport: defaultTransportDeadline, verify: defaultVerifyDeadline,
	}
	f := c.Flags()
	f.StringVarP(&o.node, "node", "n", "", "machine: NAME, node/NAME, talos/CLUSTER/NAME or id")
	f.StringVarP(&o.file, "file", "f", "", "whole configuration to apply (- reads standard input)")
	f.StringArrayVarP(&o.patches, "patch", "p", nil, "Talos patch on what the machine runs: text, or @FILE; may be repeated")
	f.BoolVar(&o.revert, "revert", false, "go back to what was applied, over the open drift record")
	f.StringVar(&o.route, "route", "", "direct, via (the talosconfig's first endpoint) or via:ENDPOINT (default: direct where it answers directly)")
	f.Var(duration{value: &o.expires}, "expires", "when the plan ends by itself")
	f.Var(duration{value: &o.maxAge, least: leastAge}, "max-age", "how old the reading that the dispatch rests on may be")
	f.Var(duration{value: &o.transport}, "transport-deadline", "how long the send may take")
	f.Var(duration{value: &o.verify}, "verify-deadline", "how long the result may take to show")
	f.IntVar(&o.attempts, "attempts", defaultAttempts, "how many sends at most, retries included")
	f.IntVar(&o.approvals, "approvals", 1, "how many people have to approve")
	f.BoolVar(&o.unready, "allow-unready", false, "do not demand that the machine's health conditions are met before the send")
	f.StringVar(&o.rollout, "rollout", "", "ID=LIMIT[,MAXFAILED]: at most LIMIT of its plans at once, closed after MAXFAILED failures")
	f.StringVar(&o.reason, "reason", "", "why, for the approver and the log")
	f.StringVar(&o.key, "key", "", "idempotency key: the same key and content give the same plan")
	a.bindTalosconfig(c)
	_ = c.RegisterFlagCompletionFunc("node", a.completeMachines)
}

// check says what is wrong with the flags, before anything is read.
func (o *planOptions) check() error {
	if o.node == "" {
		return usagef("-n NAME says which machine")
	}
	ways := 0
	for _, given := range []bool{o.file != "", len(o.patches) > 0, o.adopt, o.revert} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		if o.adopt || o.revert {
			return usagef("--adopt, --revert, -f and -p exclude each other")
		}
		return usagef("give either -f FILE (a whole configuration) or -p PATCH")
	}
	if o.attempts < 1 || o.attempts > 100 {
		return usagef("--attempts %d: between 1 and 100", o.attempts)
	}
	if o.approvals < 1 || o.approvals > 100 {
		return usagef("--approvals %d: between 1 and 100", o.approvals)
	}
	if o.transport > o.verify {
		return usagef("--transport-deadline %s must not be later than --verify-deadline %s", o.transport, o.verify)
	}
	_, err := parseRollout(o.rollout)
	return err
}

// command is how the same change is asked for again. A patch is not repeated: there may be a secret in it.
func (o *planOptions) command() string {
	switch {
	case o.revert:
		return "clew apply -n " + o.node + " --revert"
	case o.file != "":
		return "clew apply -n " + o.node + " -f FILE"
	}
	return "clew apply -n " + o.node + " -p PATCH"
}

// parseRollout reads ID=LIMIT[,MAXFAILED]; "" is no rollout.
func parseRollout(s string) (*dispatch.Rollout, error) {
	if s == "" {
		return nil, nil
	}
	wrong := usagef("--rollout %q: ID=LIMIT or ID=LIMIT,MAXFAILED, such as spring=2,0", shorten(s))
	id, numbers, ok := strings.Cut(s, "=")
	limit, failed, hasFailed := strings.Cut(numbers, ",")
	if !ok || !plainName(id) {
		return nil, wrong
	}
	r := &dispatch.Rollout{ID: id}
	var err error
	if r.Limit, err = strconv.Atoi(limit); err != nil || r.Limit < 1 || r.Limit > 1_000_000 {
		return nil, wrong
	}
	if hasFailed {
		if r.MaxFailed, err = strconv.Atoi(failed); err != nil || r.MaxFailed < 0 || r.MaxFailed > 1_000_000 {
			return nil, wrong
		}
	}
	return r, nil
}

// plainName says whether s is a name that needs no quoting: letters, digits, dot, dash and underscore, at most 64.
func plainName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == "" && s[0] != '-'
}

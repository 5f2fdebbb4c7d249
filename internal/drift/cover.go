package drift

import (
	"slices"
	"time"

	"github.com/clewops/clew/internal/drift/owner"
)

// Kept is the record of a difference that somebody declared deliberate. It covers one field of one object with one value.
type Kept struct {
	ID     string
	Object Identity
	Field  string // as Difference.Field; "" for the object being gone
	Digest string // of the value that was kept: Value.Digest
	Who    string
	Reason string
	Until  time.Time // zero: no end
}

// Act is a recorded command that may have written fields.
type Act struct {
	ID         string
	Who        string
	Reason     string // "" is "no reason given"
	Objects    []Identity
	Managers   []string // the managers that its tool writes under
	Begin, End time.Time
	// Until is the end of the window that the act belongs to; zero for an act outside of any, which covers for a day.
	Until time.Time
}

// actCovers is how long an act outside of a window covers what it wrote.
const actCovers = 24 * time.Hour

// Cover is what makes a difference deliberate.
type Cover struct {
	Record string    `json:"record"`
	Who    string    `json:"who"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"`
}

func (c Cover) expired(now time.Time) bool { return !c.Until.IsZero() && !now.Before(c.Until) }

// cover finds what covers a difference, unexpired before expired. A second edit is not covered: its value has another
// digest, and its time another act.
func (in Input) cover(s Subject, d Difference) (Cover, bool) {
	var best Cover
	found := false
	consider := func(c Cover) {
		if !found || best.expired(in.Now) && !c.expired(in.Now) {
			best, found = c, true
		}
	}
	for _, k := range in.Kept {
		digest := d.Live.Digest()
		if k.Object == s.Identity && k.Field == d.Field && digest != "" && k.Digest == digest {
			consider(Cover{Record: k.ID, Who: k.Who, Reason: k.Reason, Until: k.Until})
		}
	}
	if c, ok := in.actsCover(s, d); ok {
		consider(c)
	}
	return best, found
}

// actsCover says whether every writer of the field besides Flux was an act's tool at an act's time. What one act explains
// of a field that two wrote explains nothing.
func (in Input) actsCover(s Subject, d Difference) (Cover, bool) {
	var out Cover
	found := false
	for _, o := range d.Owners {
		if isFlux(o) {
			continue
		}
		i := slices.IndexFunc(in.Acts, func(a Act) bool { return a.wrote(s, o) })
		if i < 0 {
			return Cover{}, false
		}
		c := in.Acts[i].cover()
		if !found || c.Until.Before(out.Until) {
			out, found = c, true
		}
	}
	return out, found
}

// wrote says whether the owner's entry came about in the act.
func (a Act) wrote(s Subject, o owner.Owner) bool {
	if !slices.Contains(a.Objects, s.Identity) || !slices.Contains(a.Managers, o.Manager) {
		return false
	}
	t := o.Time
	if t.IsZero() {
		if t = s.Born[o.Manager]; t.IsZero() {
			return false // nobody saw when it came about
		}
	}
	// The API writes whole seconds, so the act's beginning is taken back to one.
	return !t.Before(a.Begin.Truncate(time.Second)) && !t.After(a.End)
}

func (a Act) cover() Cover {
	c := Cover{Record: a.ID, Who: a.Who, Reason: a.Reason, Until: a.Until}
	if c.Reason == "" {
		c.Reason = "no reason given"
	}
	if c.Until.IsZero() {
		c.Until = a.End.Add(actCovers)
	}
	return c
}

// Window is a logged suspension during which differences may have come about.
type Window struct {
	ID         string
	Begin, End time.Time // a zero End is an open window
}

// bornIn names the window in which the difference came about; "" if none.
func (in Input) bornIn(s Subject, d Difference) string {
	for _, o := range d.Owners {
		if isFlux(o) {
			continue
		}
		t := o.Time
		if t.IsZero() {
			t = s.Born[o.Manager]
		}
		for _, w := range in.Windows {
			if !t.IsZero() && !t.Before(w.Begin.Truncate(time.Second)) && (w.End.IsZero() || !t.After(w.End)) {
				return w.ID
			}
		}
	}
	return ""
}

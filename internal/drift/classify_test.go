package drift_test

import (
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// newer is the ConfigMap with another value in git than the one applied.
const newer = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: demo}
data: {color: green, level: "3"}
`

// moved is a flow in which head is newer than what was applied.
func moved(in *drift.Input) {
	in.Flow.HeadRevision, in.Flow.ArtifactRevision = "main@sha1:bbb", "main@sha1:bbb"
	in.Flow.ArtifactUpdated = in.Now.Add(-time.Minute)
}

// Each class, and each of its conditions taken away.
func TestClasses(t *testing.T) {
	untouched := func(*world) {}
	edited := func(w *world) { w.writes("kubectl-edit", "", "data.color", "red") }
	for name, c := range map[string]struct {
		head   string
		world  func(*world)
		change func(*drift.Subject)
		input  func(*drift.Input)
		want   drift.Class
		why    string
	}{
		"in-sync": {configMap, untouched, nil, nil, drift.InSync, ""},
		"pending": {newer, untouched, nil, moved, drift.Pending, "head is 1m0s old"},
		"pending, until the grace ends": {newer, untouched, nil, func(in *drift.Input) {
			moved(in)
			in.Flow.ArtifactUpdated = in.Now.Add(-20*time.Minute + time.Second)
		}, drift.Pending, ""},
		"stale, once the grace has ended": {newer, untouched, nil, func(in *drift.Input) {
			moved(in)
			in.Flow.ArtifactUpdated = in.Now.Add(-20 * time.Minute)
		}, drift.Stale, "Flux had 20m0s"},
		"stale, with a shorter grace": {newer, untouched, nil, func(in *drift.Input) { moved(in); in.Grace = time.Second }, drift.Stale, ""},
		"stale, suspended":            {newer, untouched, nil, func(in *drift.Input) { moved(in); in.Flow.Suspended = true }, drift.Stale, "suspended"},
		"stale, source suspended":     {newer, untouched, nil, func(in *drift.Input) { moved(in); in.Flow.SourceSuspended = true }, drift.Stale, "source is suspended"},
		"stale, source failing":       {newer, untouched, nil, func(in *drift.Input) { moved(in); in.Flow.SourceFailure = "401" }, drift.Stale, "401"},
		"stale, build failing":        {newer, untouched, nil, func(in *drift.Input) { moved(in); in.Flow.Blocked = "the build fails" }, drift.Stale, "build"},
		"pending, head not fetched yet": {newer, untouched, nil, func(in *drift.Input) {
			moved(in)
			in.Flow.ArtifactRevision, in.Flow.HeadSince = in.Flow.AppliedRevision, in.Now.Add(-time.Minute)
			in.Flow.ArtifactUpdated = in.Now.Add(-time.Hour * 24)
		}, drift.Pending, ""},
		"unknown, nobody knows since when": {newer, untouched, nil, func(in *drift.Input) {
			moved(in)
			in.Flow.ArtifactRevision = in.Flow.AppliedRevision
		}, drift.Unknown, "since when"},
		"unknown, applied not rendered": {newer, untouched, func(s *drift.Subject) { s.Applied = drift.Side{Err: "no such commit"} }, moved, drift.Unknown, "no such commit"},
		"unclaimed, needs no applied":   {newer, edited, func(s *drift.Subject) { s.Applied = drift.Side{} }, moved, drift.Unclaimed, ""},
		"unclaimed":                     {configMap, edited, nil, nil, drift.Unclaimed, "nobody claims it"},
		"unclaimed, never pending":      {newer, edited, nil, moved, drift.Unclaimed, ""},
		"unclaimed, a key taken away":   {configMap, func(w *world) { w.writes("kubectl-edit", "", "data.level", nil) }, nil, nil, drift.Unclaimed, ""},
		"unclaimed, a value written back by hand": {newer, func(w *world) {
			w.writes("kubectl-edit", "", "data.color", "red").writes("kubectl-edit", "", "data.color", "blue")
		}, nil, moved, drift.Unclaimed, ""},
		"unknown, changed at admission":         {newer, untouched, nil, nil, drift.Unknown, "admission"},
		"in-sync, a dry-run knows of admission": {newer, untouched, func(s *drift.Subject) { s.DryRun = s.Live }, nil, drift.InSync, ""},
		"unknown, a dry-run would change it":    {newer, untouched, func(s *drift.Subject) { s.DryRun = s.Head }, nil, drift.Unknown, "admission"},
		"in-sync, ignored":                      {configMap, edited, nil, func(in *drift.Input) { ignore("/data/color", nil)(&in.Flow) }, drift.InSync, ""},
		"in-sync, a mutator that was named": {configMap, func(w *world) { w.writes("robot-7", "", "data.color", "red") }, nil, func(in *drift.Input) {
			in.Mutators = []drift.Mutator{{Manager: "robot-*", Kind: "ConfigMap", Field: "data"}}
		}, drift.InSync, "robot-7"},
		"unclaimed, a mutator of another field": {configMap, func(w *world) { w.writes("robot-7", "", "data.color", "red") }, nil, func(in *drift.Input) {
			in.Mutators = []drift.Mutator{{Manager: "robot-*", Field: "metadata"}}
		}, drift.Unclaimed, ""},
		"born in a window": {configMap, edited, nil, func(in *drift.Input) {
			in.Windows = []drift.Window{{ID: "w-1", Begin: day.Add(-time.Hour)}}
		}, drift.Unclaimed, "born in window w-1"},
		"born before the window": {configMap, edited, nil, func(in *drift.Input) {
			in.Windows = []drift.Window{{ID: "w-1", Begin: day.Add(-time.Second)}}
		}, drift.Unclaimed, "nobody claims it"},
	} {
		w := applied(t, configMap)
		c.world(w)
		s := w.subject()
		s.Head = side(t, parse(t, c.head))
		if c.change != nil {
			c.change(&s)
		}
		o := judge(s, func(in *drift.Input) {
			if c.input != nil {
				c.input(in)
			}
		})
		if o.Class != c.want || !strings.Contains(o.Reason, c.why) && (len(o.Differences) == 0 || !strings.Contains(o.Differences[0].Reason, c.why)) {
			t.Errorf("%s: want %s because of %q: %s", name, c.want, c.why, shown(o))
		}
	}
}

func TestClassesOfObjects(t *testing.T) {
	missing := drift.Side{State: drift.Missing}
	unread := drift.Side{Err: "not rendered"}
	for name, c := range map[string]struct {
		change func(*drift.Subject)
		input  func(*drift.Input)
		want   drift.Class
	}{
		"deleted":                                 {func(s *drift.Subject) { s.Live = missing }, nil, drift.NotLive},
		"deleted, while head moved":               {func(s *drift.Subject) { s.Live = missing }, moved, drift.NotLive},
		"deleted, by the inventory":               {func(s *drift.Subject) { s.Live, s.Applied = missing, unread }, moved, drift.NotLive},
		"not yet applied":                         {func(s *drift.Subject) { s.Live, s.Applied, s.Listed = missing, missing, false }, moved, drift.Pending},
		"not yet applied, by the inventory":       {func(s *drift.Subject) { s.Live, s.Applied, s.Listed = missing, unread, false }, moved, drift.Pending},
		"not yet applied, suspended":              {func(s *drift.Subject) { s.Live, s.Applied, s.Listed = missing, missing, false }, both(moved, suspended), drift.Stale},
		"not yet pruned":                          {func(s *drift.Subject) { s.Head = missing }, moved, drift.Pending},
		"not yet pruned, suspended":               {func(s *drift.Subject) { s.Head = missing }, both(moved, suspended), drift.Stale},
		"never pruned":                            {func(s *drift.Subject) { s.Head = missing }, both(moved, func(in *drift.Input) { in.Flow.Prune = false }), drift.Extra},
		"extra":                                   {func(s *drift.Subject) { s.Head = missing }, nil, drift.Extra},
		"orphan":                                  {func(s *drift.Subject) { s.Head, s.Listed = missing, false }, nil, drift.Orphan},
		"another's":                               {func(s *drift.Subject) { s.Head, s.Listed = missing, false }, func(in *drift.Input) { in.Flow.Name = "else" }, drift.InSync},
		"nowhere":                                 {func(s *drift.Subject) { s.Head, s.Live = missing, missing }, nil, drift.InSync},
		"deleted, and that is kept":               {func(s *drift.Subject) { s.Live = missing }, keptAs("", drift.Absent{}, day.Add(time.Hour)), drift.Ahead},
		"deleted, and that was kept":              {func(s *drift.Subject) { s.Live = missing }, keptAs("", drift.Absent{}, day), drift.AheadExpired},
		"live is unread":                          {func(s *drift.Subject) { s.Live = unread }, nil, drift.Unknown},
		"head is unread":                          {func(s *drift.Subject) { s.Head = unread }, nil, drift.Unknown},
		"live unread and head without the object": {func(s *drift.Subject) { s.Head, s.Live = missing, unread }, nil, drift.Unknown},
	} {
		s := applied(t, configMap).subject()
		c.change(&s)
		o := judge(s, func(in *drift.Input) {
			if c.input != nil {
				c.input(in)
			}
		})
		if o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
		if (o.Class != drift.InSync && o.Class != drift.Unknown) != (len(visible(o)) > 0) {
			t.Errorf("%s: a class without a visible difference: %s", name, shown(o))
		}
	}
}

func both(a, b func(*drift.Input)) func(*drift.Input) {
	return func(in *drift.Input) { a(in); b(in) }
}

func suspended(in *drift.Input) { in.Flow.Suspended = true }

func keptAs(field string, v drift.Value, until time.Time) func(*drift.Input) {
	return func(in *drift.Input) {
		in.Kept = append(in.Kept, drift.Kept{
			ID: "k-1", Object: drift.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "settings"}, Field: field,
			Digest: v.Digest(), Who: "anna", Reason: "demo day", Until: until,
		})
	}
}

// A record covers one field of one object with one value, until its end.
func TestKept(t *testing.T) {
	red := drift.PlainOf("red")
	for name, c := range map[string]struct {
		value string
		input func(*drift.Input)
		want  drift.Class
	}{
		"covered":               {"red", keptAs("data.color", red, day.Add(time.Second)), drift.Ahead},
		"without an end":        {"red", keptAs("data.color", red, time.Time{}), drift.Ahead},
		"ended":                 {"red", keptAs("data.color", red, day), drift.AheadExpired},
		"a second edit":         {"crimson", keptAs("data.color", red, time.Time{}), drift.Unclaimed},
		"another field":         {"red", keptAs("data.level", red, time.Time{}), drift.Unclaimed},
		"ended and kept again":  {"red", both(keptAs("data.color", red, day), keptAs("data.color", red, day.Add(time.Hour))), drift.Ahead},
		"no record":             {"red", func(*drift.Input) {}, drift.Unclaimed},
		"another object's":      {"red", func(in *drift.Input) { keptAs("data.color", red, time.Time{})(in); in.Kept[0].Object.Name = "else" }, drift.Unclaimed},
		"another group's":       {"red", func(in *drift.Input) { keptAs("data.color", red, time.Time{})(in); in.Kept[0].Object.Group = "x" }, drift.Unclaimed},
		"a record of no digest": {"red", func(in *drift.Input) { keptAs("data.color", red, time.Time{})(in); in.Kept[0].Digest = "" }, drift.Unclaimed},
	} {
		w := applied(t, configMap)
		w.writes("kubectl-edit", "", "data.color", c.value)
		o := judge(w.subject(), c.input)
		if o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
		if cover := o.Differences[0].Cover; (c.want != drift.Unclaimed) != (cover != nil) || cover != nil && (cover.Who != "anna" || cover.Reason != "demo day") {
			t.Errorf("%s: %+v", name, cover)
		}
	}
}

// An act covers what its tool wrote while it ran, for a day, or until the end of its window.
func TestActs(t *testing.T) {
	settings := drift.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "settings"}
	written := day.Add(-time.Minute) // by the edit
	act := drift.Act{
		ID: "a-1", Who: "anna", Objects: []drift.Identity{settings}, Managers: []string{"kubectl-edit"},
		Begin: written.Add(-time.Second), End: written.Add(time.Second),
	}
	for name, c := range map[string]struct {
		change func(*drift.Act)
		now    time.Time
		want   drift.Class
	}{
		"covered":                  {func(*drift.Act) {}, day, drift.Ahead},
		"begun in the same second": {func(a *drift.Act) { a.Begin = written.Add(900 * time.Millisecond) }, day, drift.Ahead},
		"begun later":              {func(a *drift.Act) { a.Begin = written.Add(time.Second) }, day, drift.Unclaimed},
		"ended before":             {func(a *drift.Act) { a.End = written.Add(-time.Millisecond) }, day, drift.Unclaimed},
		"another tool":             {func(a *drift.Act) { a.Managers = []string{"kubectl-patch"} }, day, drift.Unclaimed},
		"another object":           {func(a *drift.Act) { a.Objects[0].Name = "else" }, day, drift.Unclaimed},
		"no object known":          {func(a *drift.Act) { a.Objects = nil }, day, drift.Unclaimed},
		"within the day":           {func(*drift.Act) {}, act.End.Add(24*time.Hour - time.Second), drift.Ahead},
		"after the day":            {func(*drift.Act) {}, act.End.Add(24 * time.Hour), drift.AheadExpired},
		"until the window's end":   {func(a *drift.Act) { a.Until = day.Add(72 * time.Hour) }, day.Add(71 * time.Hour), drift.Ahead},
		"after the window's end":   {func(a *drift.Act) { a.Until = day.Add(time.Minute) }, day.Add(time.Minute), drift.AheadExpired},
	} {
		w := applied(t, configMap)
		w.writes("kubectl-edit", "", "data.color", "red")
		a := act
		a.Objects = append([]drift.Identity(nil), act.Objects...)
		c.change(&a)
		o := judge(w.subject(), func(in *drift.Input) { in.Now, in.Acts = c.now, []drift.Act{a} })
		if o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
		if c.want == drift.Ahead && o.Differences[0].Cover.Reason != "no reason given" {
			t.Errorf("%s: %+v", name, o.Differences[0].Cover)
		}
	}
}

// "kubectl scale" leaves no time: its field is covered only if a scan saw the entry come about.
func TestActsWithoutATime(t *testing.T) {
	w := applied(t, deployment)
	w.writes("kubectl", "scale", "spec.replicas", int64(7))
	act := drift.Act{
		ID: "a-1", Who: "anna", Objects: []drift.Identity{{Group: "apps", Kind: "Deployment", Namespace: "demo", Name: "web"}},
		Managers: []string{"kubectl"}, Begin: day.Add(-time.Minute), End: day.Add(-30 * time.Second),
	}
	s := w.subject()
	acts := func(in *drift.Input) { in.Acts = []drift.Act{act} }
	if o := judge(s, acts); o.Class != drift.Unclaimed {
		t.Errorf("nobody saw when: %s", shown(o))
	}
	s.Born = map[string]time.Time{"kubectl": day.Add(-45 * time.Second)}
	if o := judge(s, acts); o.Class != drift.Ahead {
		t.Errorf("a scan saw it: %s", shown(o))
	}
	s.Born = map[string]time.Time{"kubectl": day}
	if o := judge(s, acts); o.Class != drift.Unclaimed {
		t.Errorf("a scan saw it later: %s", shown(o))
	}
}

func TestEventsOfRecords(t *testing.T) {
	for name, c := range map[string]struct {
		git, live string
		want      drift.EventKind
	}{
		"still ahead":       {"blue", "red", ""},
		"merged":            {"red", "red", drift.Merged},
		"lost":              {"blue", "blue", drift.Lost},
		"overtaken by both": {"green", "green", drift.Lost},
	} {
		head := parse(t, configMap)
		tree.Map(head, "data")["color"] = c.git
		w := appliedObject(t, head)
		if c.live != c.git {
			w.writes("kubectl-edit", "", "data.color", c.live)
		}
		in := drift.Input{Now: day, Flow: ref, Subjects: []drift.Subject{w.subject()}}
		keptAs("data.color", drift.PlainOf("red"), time.Time{})(&in)
		events := drift.Events(in, drift.Judge(in))
		if c.want == "" && len(events) > 0 || c.want != "" && (len(events) != 1 || events[0].Kind != c.want) {
			t.Errorf("%s: %+v", name, events)
		}
	}
	in := drift.Input{Now: day, Flow: ref, Subjects: []drift.Subject{applied(t, configMap).subject()}}
	in.Subjects[0].Live = drift.Side{Err: "timeout"}
	keptAs("data.color", drift.PlainOf("red"), time.Time{})(&in)
	if events := drift.Events(in, drift.Judge(in)); len(events) > 0 {
		t.Errorf("nothing follows from what was not read: %+v", events)
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		classes []drift.Class
		want    int
	}{
		{nil, 0},
		{[]drift.Class{drift.InSync, drift.Pending, drift.Ahead}, 0},
		{[]drift.Class{drift.InSync, drift.Unknown}, 1},
		{[]drift.Class{drift.Unknown, drift.Stale}, 2},
		{[]drift.Class{drift.Unclaimed}, 2},
		{[]drift.Class{drift.AheadExpired}, 2},
		{[]drift.Class{drift.NotLive}, 2},
		{[]drift.Class{drift.Extra}, 2},
		{[]drift.Class{drift.Orphan}, 2},
	} {
		if got := drift.ExitCode(c.classes); got != c.want {
			t.Errorf("%v: %d, want %d", c.classes, got, c.want)
		}
	}
}

func TestInventoryID(t *testing.T) {
	for text, id := range map[string]drift.Identity{
		"_demo__Namespace":                                    {Kind: "Namespace", Name: "demo"},
		"demo_settings__ConfigMap":                            {Kind: "ConfigMap", Namespace: "demo", Name: "settings"},
		"demo_web_apps_Deployment":                            {Group: "apps", Kind: "Deployment", Namespace: "demo", Name: "web"},
		"_demo__reader_rbac.authorization.k8s.io_ClusterRole": {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "demo:reader"},
	} {
		got, err := drift.ParseInventoryID(text)
		if err != nil || got != id || id.InventoryID() != text {
			t.Errorf("%s: %+v, %v, written %s", text, got, err, id.InventoryID())
		}
	}
	for _, bad := range []string{"", "x", "a_b", "a_b_c", "___", "a___Kind"} {
		if id, err := drift.ParseInventoryID(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, id)
		}
	}
}

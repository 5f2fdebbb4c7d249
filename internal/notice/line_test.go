package notice

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"pgregory.net/rapid"
)

// clock is a moment of that day.
func clock(t testing.TB, s string) time.Time {
	t.Helper()
	c, err := time.Parse("2006-01-02 15:04:05", "2026-11-30 "+s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLines is the wording, word by word, from the facts to the line.
func TestLines(t *testing.T) {
	maintenance := func(b *Book) {
		a := upgrade("i-7k2", "cp-2", 0)
		a.Start = clock(t, "12:03:20")
		b.PutAct(a, a.Start)
		b.PutInterest(Interest{"s-bob", web, clock(t, "14:05:00")}, a.Start)
	}
	down := func(b *Book, from string) {
		b.PutReport(Report{ID: "s-1", Node: api, Symptom: graph.APIGap, From: clock(t, from), Source: Probe, Detail: "refused"}, clock(t, from))
	}
	refused := func(when string) Question {
		return Question{
			Session: "s-bob", Ledger: clock(t, when),
			Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Disturbed, At: clock(t, when), Detail: "refused", Own: web},
		}
	}
	for _, c := range []struct {
		name  string
		facts func(*Book)
		q     Question
		now   string
		want  string
	}{
		{
			"explained", func(b *Book) { maintenance(b); down(b, "12:05:40") }, refused("12:05:54"), "12:05:54",
			"clew: EXPLAINED by i-7k2: alice upgrades cp-2 · API gap 14 s of <=60 s (probe: refused 12:05:54) · cp-2>etcd>API>shop/web · wait, retry after 12:06:40; no incident, no repair · clew why i-7k2",
		},
		{
			"own, and nobody would think otherwise", func(*Book) {},
			Question{Session: "s-bob", Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Fine, At: clock(t, "12:05:54"), Took: 18 * time.Millisecond}},
			"12:05:54",
			"",
		},
		{
			"own, while something runs", maintenance,
			Question{Session: "s-bob", Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Fine, At: clock(t, "12:05:54"), Took: 18 * time.Millisecond, Own: web}},
			"12:05:54",
			"clew: OWN: prod's API answers (18 ms); take this error as your own (i-7k2 runs, but does not explain it)",
		},
		{
			"the author's", func(b *Book) { maintenance(b); down(b, "12:05:40") },
			func() Question { q := refused("12:05:54"); q.Session = "s-alice"; return q }(), "12:05:54",
			"clew: OWN: prod's API refuses; i-7k2 is your own work and does not excuse your error · take this error as your own · clew why i-7k2",
		},
		{
			"exceeded", func(b *Book) {
				maintenance(b)
				down(b, "12:05:40")
				entries := b.Judge(clock(t, "12:07:14"))
				b.Delivered(entries[len(entries)-1].Escalation.Key, []string{"alice", "#ops (n-31)"})
			}, refused("12:07:14"), "12:07:14",
			"clew: EXCEEDED i-7k2: API down 94 s, allowed <=60 s · announced 12:07:14 to alice, #ops (n-31) · stop, tell your human, do not repair · clew why i-7k2",
		},
		{
			"exceeded, not announced", func(b *Book) { maintenance(b); down(b, "12:05:40") }, refused("12:07:14"), "12:07:14",
			"clew: EXCEEDED i-7k2: API down 94 s, allowed <=60 s · not announced yet · stop, tell your human, do not repair · clew why i-7k2",
		},
		{
			"unexplained", func(b *Book) {
				b.PutEvent(Event{clock(t, "12:29:10"), "etcd/prod", "Flux applied infra@9f3c", "e-1"})
			}, refused("12:31:02"), "12:31:02",
			"clew: UNEXPLAINED: prod's API refuses (probe 12:31:02); nobody's work explains it · nearest: Flux applied infra@9f3c 12:29 · tell your human now · clew why",
		},
		{
			"unexplained, and nothing is near", func(*Book) {}, refused("12:31:02"), "12:31:02",
			"clew: UNEXPLAINED: prod's API refuses (probe 12:31:02); nobody's work explains it · tell your human now · clew why",
		},
		{
			"the ledger is away", func(*Book) {},
			func() Question { q := refused("12:31:00"); q.Ledger = clock(t, "12:27:00"); return q }(), "12:31:00",
			"clew: UNKNOWN: ledger not reached since 12:27 (4 min); notices may be missing · treat as unexplained",
		},
		{
			"the ledger is away, and a notice explains it", func(b *Book) { maintenance(b); down(b, "12:05:40") },
			func() Question { q := refused("12:05:54"); q.Ledger = clock(t, "12:04:00"); return q }(), "12:05:54",
			"clew: EXPLAINED by i-7k2: alice upgrades cp-2 · API gap 14 s of <=60 s (probe: refused 12:05:54), as known 12:04 · cp-2>etcd>API>shop/web · wait, retry after 12:06:40; no incident, no repair · clew why i-7k2",
		},
		{
			"the probe could not tell", maintenance,
			Question{Session: "s-bob", Ledger: clock(t, "12:05:54"), Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: NoAnswer, At: clock(t, "12:05:54"), Detail: "no address"}},
			"12:05:54",
			"clew: UNKNOWN: prod's API could not be probed (no address) · treat as unexplained",
		},
		{
			"stronger", func(b *Book) {
				maintenance(b)
				r := Report{ID: "s-1", Node: api, Symptom: graph.APIGap, From: clock(t, "12:05:40"), Source: Probe, Strength: 2}
				b.PutReport(r, r.From)
			}, refused("12:05:54"), "12:05:54",
			"clew: EXCEEDED i-7k2: API down on 2, expected on 1 · announced 12:05:40 · stop, tell your human, do not repair · clew why i-7k2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBook(shop(t, "prod"))
			c.facts(b)
			want := c.want
			if c.name == "stronger" {
				b.Judge(clock(t, "12:05:42"))
				want = strings.Replace(want, "12:05:40", "12:05:42", 1)
			}
			a := b.Ask(c.q, clock(t, c.now))
			if got := a.Line(Style{}); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			ascii := a.Line(Style{ASCII: true})
			if ascii != strings.ReplaceAll(want, " · ", " - ") {
				t.Errorf("in ASCII: %s", ascii)
			}
		})
	}
}

func TestLineInTheUsersZone(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	a := b.Ask(Question{Session: "s", Ledger: noon, Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Disturbed, At: noon}}, noon)
	got := a.Line(Style{Zone: time.FixedZone("x", 2*3600)})
	if !strings.Contains(got, "prod's API does not answer (probe 14:00:00)") {
		t.Error(got)
	}
}

// Whatever others wrote into their texts: one line, not too long, no control character, and it says what to do.
func TestLinesAreSafe(t *testing.T) {
	text := rapid.StringOfN(rapid.OneOf(rapid.RuneFrom(nil, unicode.L, unicode.P, unicode.C, unicode.Z), rapid.SampledFrom([]rune("\n\r\x1b[0m\u202e·"))), 0, 300, -1)
	rapid.Check(t, func(t *rapid.T) {
		a := Answer{Say: true, Ledger: noon}
		a.Kind = rapid.SampledFrom([]VerdictKind{Explained, Own, Exceeded, Unexplained, Unknown}).Draw(t, "kind")
		a.Breach = rapid.SampledFrom([]Breach{Outlasts, Late, Stronger, Aborts, Differs}).Draw(t, "breach")
		a.Cause, a.Who, a.Doing = "i-7k2zz", text.Draw(t, "who"), text.Draw(t, "doing")
		a.Node, a.Symptom, a.At = api, graph.APIGap, noon
		for range rapid.IntRange(0, 12).Draw(t, "hops") {
			a.Path = append(a.Path, graph.Name("deploy/prod/a-long-namespace-name/"+rapid.StringMatching(`[a-z]{1,40}`).Draw(t, "name")))
		}
		a.Saw = Sighting{Node: api, At: noon, Detail: text.Draw(t, "detail")}
		a.Near = []Near{{Text: text.Draw(t, "near"), At: noon}}
		a.Announce = &Escalation{Receivers: []string{text.Draw(t, "receiver")}, Opened: noon}
		ascii := rapid.Bool().Draw(t, "ascii")
		line := a.Line(Style{ASCII: ascii})
		if n := len([]rune(line)); n > LongestLine {
			t.Fatalf("%d characters: %s", n, line)
		}
		for _, r := range line {
			if !unicode.IsPrint(r) || ascii && r > unicode.MaxASCII {
				t.Fatalf("%U in %q", r, line)
			}
		}
		must := map[VerdictKind]string{
			Explained: "wait, retry after", Own: "take this error as your own", Exceeded: "do not repair",
			Unexplained: "tell your human now", Unknown: "treat as unexplained",
		}[a.Kind]
		if !strings.HasPrefix(line, "clew: "+strings.ToUpper(string(a.Kind))) || !strings.Contains(line, must) {
			t.Fatalf("%q is missing in %q", must, line)
		}
	})
}

func TestNextGoesWithTheVerdict(t *testing.T) {
	for kind, want := range map[VerdictKind][2]string{
		Explained: {"wait", "repair, restart"}, Own: {"take this error as your own", "wait for"},
		Exceeded: {"tell your human this text", "second incident"}, Unexplained: {"tell your human now", "repair unasked"},
		Unknown: {"treat as unexplained", "repair unasked"},
	} {
		a := Answer{Verdict: Verdict{Kind: kind, At: noon, Over: noon.Add(time.Minute)}}
		n := a.Next()
		if !strings.Contains(strings.Join(n.Do, "; "), want[0]) || !strings.Contains(strings.Join(n.Dont, "; "), want[1]) {
			t.Errorf("%s: %+v", kind, n)
		}
		if (kind != Own) != n.Recheck.After(noon) {
			t.Errorf("%s: look again at %s", kind, n.Recheck)
		}
	}
}

// An author's own failing command is never explained by the author's own work; somebody else's work does explain it.
func TestAuthorsAreNotExcused(t *testing.T) {
	for _, c := range []struct {
		name    string
		session Session
		other   bool
		want    VerdictKind
	}{
		{"the author", Session{ID: "s-alice", Work: "w-1"}, false, Own},
		{"another session of the same work", Session{ID: "s-x", Work: "w-1"}, false, Own},
		{"another session of the same person", Session{ID: "s-y", Identity: "alice"}, false, Explained},
		{"somebody else", Session{ID: "s-bob"}, false, Explained},
		{"the author, and another's work too", Session{ID: "s-alice", Work: "w-1"}, true, Explained},
	} {
		b := NewBook(shop(t, "prod"))
		a := upgrade("i-1", "cp-2", 0)
		a.Work = "w-1"
		b.PutAct(a, at(0))
		if c.other {
			o := upgrade("i-2", "cp-2", 0)
			o.Session, o.Who = "s-carol", "carol"
			b.PutAct(o, at(0))
		}
		b.PutSession(c.session, at(0))
		got := b.Ask(Question{Session: c.session.ID, Ledger: at(10), Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Disturbed, At: at(10)}}, at(10))
		if got.Kind != c.want || got.Authors != (c.want == Own) {
			t.Errorf("%s: %s", c.name, said(got.Verdict))
		}
	}
	// Too much is too much, for the author as well.
	b := NewBook(shop(t, "prod"))
	b.PutAct(upgrade("i-1", "cp-2", 0), at(0))
	b.PutReport(gap("s-1", 0, -1), at(1))
	got := b.Ask(Question{Session: "s-alice", Ledger: at(100), Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Disturbed, At: at(100)}}, at(100))
	if said(got.Verdict) != "exceeded/outlasts by i-1 api-gap" {
		t.Error(said(got.Verdict))
	}
}

// The line is said once per session, cause and verdict: its name changes with either, and with nothing else.
func TestOnce(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	a := upgrade("i-1", "cp-2", 0)
	a.Class = act.Mutate
	b.PutAct(a, at(0))
	b.PutReport(gap("s-1", 0, -1), at(1))
	ask := func(s int) string {
		return b.Ask(Question{Session: "s-bob", Ledger: at(s), Saw: Sighting{Node: api, Symptom: graph.APIGap, Found: Disturbed, At: at(s)}}, at(s)).Once
	}
	if ask(10) != ask(20) || ask(10) == ask(70) || ask(70) != ask(90) {
		t.Errorf("%s %s %s %s", ask(10), ask(20), ask(70), ask(90))
	}
	if b.reports["s-1"] == nil || len(b.spots) != 1 || len(b.spots[spotKey{api, graph.APIGap}].bouts) != 1 {
		t.Error("asking left something behind")
	}
}

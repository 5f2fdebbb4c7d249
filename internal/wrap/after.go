package wrap

import (
	"net"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
	"github.com/clewops/clew/internal/wrap/child"
	"github.com/clewops/clew/internal/wrap/probe"
	"github.com/clewops/clew/internal/wrap/situation"
)

// ids are the session's own id and the others by which it may be known.
func (r *run) ids() []string { return append([]string{r.session.ID}, r.session.Aliases...) }

// kept opens the situation; nil if there is none that can be read.
func (r *run) kept() *situation.Situation {
	if r.dirsErr != nil {
		return nil
	}
	s, err := situation.Open(r.dirs.Cache)
	if err != nil {
		return nil
	}
	return s
}

// before says on a terminal, before the command, that a notice concerns its target.
func (r *run) before() {
	if r.recognised.Local || child.Stderr() == nil || !child.IsTerminal(2) {
		return
	}
	s := r.kept()
	if s == nil {
		return
	}
	defer s.Close()
	for _, n := range r.touching(&s.Head, r.nodes(&s.Head)) {
		if r.first("before|" + n.Act) {
			say(oneLine("clew: "+n.Act+" concerns "+graph.Text(n.Path)+": "+doing(n)+until(n)+" · your command runs as it is · clew why "+n.Act) + "\n")
		}
	}
}

func doing(n notice.Notice) string { return strings.TrimSpace(n.Who + " " + n.Doing) }

func until(n notice.Notice) string {
	if n.Until.IsZero() {
		return ""
	}
	return ", until " + n.Until.Local().Format("15:04")
}

// nodes are what the command names, in the graph's names.
func (r *run) nodes(h *situation.Head) []graph.Name {
	c := h.Cluster(r.place)
	if c == nil {
		return nil
	}
	return c.Nodes(r.targets)
}

// touching are the session's notices that concern what the command needs: its targets, and the API by which they are
// reached.
func (r *run) touching(h *situation.Head, nodes []graph.Name) []notice.Notice {
	if node, _, ok := r.depends(h); ok {
		nodes = append(slices.Clone(nodes), node)
	}
	return situation.Touching(h.Mine(r.ids()), nodes)
}

// depends is what the command needs in order to work at all, and its address: the API server, or the first machine that
// talosctl turns to.
func (r *run) depends(h *situation.Head) (node graph.Name, server string, ok bool) {
	c := h.Cluster(r.place)
	if r.recognised.NodesAre != "" {
		return r.machine(c)
	}
	if r.place.Server == "" || r.place.Context == "" && !r.place.InCluster && r.recognised.Selector(act.SelectServer) == nil {
		// Without any configuration the tools turn to a port of this host, which is nobody's cluster.
		return "", "", false
	}
	n, err := graph.MakeName(string(graph.APIServer), r.clusterName(c))
	return n, r.place.Server, err == nil
}

// talosPort is where machines answer, unless an endpoint says otherwise.
const talosPort = "50000"

// machine is the first machine that talosctl turns to.
func (r *run) machine(c *situation.Cluster) (node graph.Name, server string, ok bool) {
	hosts := slices.Concat(r.place.Endpoints, r.place.Nodes)
	if len(hosts) == 0 {
		return "", "", false
	}
	host := hosts[0]
	server = "https://" + host
	if _, _, err := net.SplitHostPort(host); err != nil {
		server = "https://" + net.JoinHostPort(host, talosPort)
	}
	if c != nil {
		if n, known := c.Machines[host]; known {
			return n, server, true
		}
	}
	n, err := graph.MakeName(string(graph.Machine), r.clusterName(c), host)
	return n, server, err == nil
}

// clusterName is the cluster's name in the graph, or else what the configuration calls it.
func (r *run) clusterName(c *situation.Cluster) string {
	switch {
	case c != nil:
		return c.Name
	case r.place.Context != "":
		return strings.ReplaceAll(r.place.Context, "/", "_")
	default:
		return "cluster"
	}
}

// after says the one line after a failed command, if there is something to say.
func (r *run) after(exit act.Exit) {
	if !r.recognised.Failed(exit) || child.Stderr() == nil {
		return
	}
	head := &situation.Head{}
	s := r.kept()
	if s != nil {
		defer s.Close()
		head = &s.Head
	}
	nodes := r.nodes(head)
	if len(r.touching(head, nodes)) == 0 && !r.recognised.MayBeUnreachable(exit) {
		return
	}
	node, server, ok := r.depends(head)
	if !ok {
		return
	}
	answer := r.judge(s, nodes, r.probe(node, server, nodes))
	line := answer.Line(notice.Style{ASCII: !r.utf8(), Zone: time.Local})
	if line != "" && r.first("verdict|"+answer.Once) {
		say(line + "\n")
	}
}

func (r *run) probe(node graph.Name, server string, nodes []graph.Name) notice.Sighting {
	saw := notice.Sighting{Node: node, Symptom: graph.APIGap}
	if node.Kind() == graph.Machine {
		saw.Symptom = graph.TalosGap
	}
	if len(nodes) > 0 {
		saw.Own = nodes[0]
	}
	result := probe.Probe{Server: server, Env: r.getenv}.Look()
	saw.Found, saw.At, saw.Took, saw.Detail = result.Found, result.At, result.Took, result.Detail
	return saw
}

// judge judges by what is kept; without it only what the probe alone can tell.
func (r *run) judge(s *situation.Situation, nodes []graph.Name, saw notice.Sighting) notice.Answer {
	now := time.Now()
	if s != nil {
		if a, err := s.Ask(situation.Asked{IDs: r.ids(), Nodes: nodes, Saw: saw, Now: now}); err == nil {
			return a
		}
	}
	return situation.Unasked(saw, now)
}

// utf8 says whether the caller reads more than ASCII. Where nothing is said, as for most agents, it does.
func (r *run) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := r.getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

package act

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// IDSource is the rule that gave a session's id, in their order.
type IDSource string

// Rules, in the order in which they are tried.
const (
	FromVariable IDSource = "CLEW_SESSION"
	FromAgent    IDSource = "agent's variable"
	FromPipeline IDSource = "pipeline's variable"
	FromAncestor IDSource = "ancestor process"
	FromLogin    IDSource = "login session"
)

// SessionVariable is the environment variable that says outright which session this is.
const SessionVariable = "CLEW_SESSION"

// Process is one process of the chain from this one upwards.
type Process struct {
	PID     int
	Start   string   // start time in the system's own unit; with the PID and the boot id it is unique
	Session int      // session id (that of the session leader); 0 when not known
	User    string   // owner
	Exe     string   // path of the executable, or its name
	Argv    []string // may be empty: other users' command lines can be hidden
}

// Facts are what an adapter gathered about the calling process. Empty fields are not known.
type Facts struct {
	Env       map[string]string
	Ancestors []Process // nearest first; the first one is the parent
	Session   int       // session id of the calling process
	User      string    // of the calling process
	Host      string
	BootID    string
	Namespace string            // of process ids: two sandboxes on one host may count alike
	Known     map[string]string // alias → id, from earlier sightings on this host
}

// Identified is what Identify found.
type Identified struct {
	ID      string
	Name    string // for people
	Kind    SessionKind
	Source  IDSource
	Program string   // name of the agent or pipeline, if it is one
	User    string   // whose session it is: with sudo not the calling process' owner
	Aliases []string // other ids of the same session; the caller remembers them as Facts.Known
}

// Identify says which session the calling process belongs to. Two terminals are two sessions; one agent is one,
// whatever processes it starts: its shell tool may carry a variable that its MCP server does not, so the nearest known
// agent among the ancestors is an alias of the variable's id, and a remembered alias leads back to that id.
func Identify(f Facts, programs []Program) Identified {
	ancestor, program := nearestAgent(f.Ancestors, programs)
	alias := ""
	if ancestor != nil {
		alias = processID(f, program.Name, *ancestor)
	}
	found := identifyBy(f, programs, ancestor, program, alias)
	if alias != "" && alias != found.ID && found.Kind == Agent {
		found.Aliases = append(found.Aliases, alias)
	}
	if found.User == "" {
		found.User = f.User
	}
	found.Name = sessionName(found, f)
	return found
}

// identifyBy tries the rules in their order.
func identifyBy(f Facts, programs []Program, ancestor *Process, program Program, alias string) Identified {
	if v := f.Env[SessionVariable]; v != "" {
		found := Identified{ID: statedID(v), Kind: Person, Source: FromVariable}
		switch {
		case ancestor != nil:
			found.Kind, found.Program = Agent, program.Name
		default:
			if p, _, ok := byVariable(f, programs); ok {
				found.Kind, found.Program = p.Kind, p.Name
			}
		}
		return found
	}
	if p, values, ok := byVariable(f, programs); ok {
		// An agent that another one started has inherited a variable that is not its own.
		id := digestID(p.Name, values...)
		own := p.Kind == Pipeline || ancestor == nil || program.Name == p.Name && !ofOuter(f, p, *ancestor, id)
		if own {
			return Identified{ID: id, Kind: p.Kind, Source: sourceOf(p), Program: p.Name}
		}
	}
	if ancestor != nil {
		id := alias
		if known, ok := f.Known[alias]; ok {
			id = known
		}
		return Identified{ID: id, Kind: Agent, Source: FromAncestor, Program: program.Name, User: ancestor.User}
	}
	leader, user := loginLeader(f)
	id := digestID("login", f.Host, f.BootID, f.Namespace, user, fmt.Sprint(leader.PID), leader.Start)
	found := Identified{ID: id, Kind: Person, Source: FromLogin, User: user}
	if p, ok := bySign(f, programs); ok {
		found.Kind, found.Program = p.Kind, p.Name
	}
	return found
}

// bySign finds the first program of which a sign is set. A sign tells who is at work, not which of their sessions.
func bySign(f Facts, programs []Program) (Program, bool) {
	for _, p := range programs {
		for _, name := range p.Signs {
			if v := f.Env[name]; v != "" && v != "0" && v != "false" {
				return p, true
			}
		}
	}
	return Program{}, false
}

// ofOuter says whether an id is known to be that of another process of the same agent further out, from which the nearer
// one has inherited the variable.
func ofOuter(f Facts, p Program, nearest Process, id string) bool {
	beyond := false
	for i := range f.Ancestors {
		if beyond && p.runs(f.Ancestors[i]) {
			outer := outermost(f.Ancestors, i, p)
			return f.Known[processID(f, p.Name, *outer)] == id
		}
		beyond = beyond || f.Ancestors[i].PID == nearest.PID
	}
	return false
}

func sourceOf(p Program) IDSource {
	if p.Kind == Pipeline {
		return FromPipeline
	}
	return FromAgent
}

// byVariable finds the first program whose id variables are all set. Agents come before pipelines: an agent that works
// in a pipeline is the nearer answer.
func byVariable(f Facts, programs []Program) (Program, []string, bool) {
	for _, kind := range []SessionKind{Agent, Pipeline} {
		for _, p := range programs {
			if p.Kind != kind || len(p.ID) == 0 {
				continue
			}
			values := make([]string, 0, len(p.ID))
			for _, name := range p.ID {
				if v := f.Env[name]; v != "" {
					values = append(values, v)
				}
			}
			if len(values) == len(p.ID) {
				return p, values, true
			}
		}
	}
	return Program{}, nil, false
}

// nearestAgent finds the nearest ancestor that is a known agent.
func nearestAgent(ancestors []Process, programs []Program) (*Process, Program) {
	for i := range ancestors {
		for _, p := range programs {
			if p.Kind == Agent && p.runs(ancestors[i]) {
				return outermost(ancestors, i, p), p
			}
		}
	}
	return nil, Program{}
}

// outermost follows the chain while it is the same agent: a launcher that starts the agent's real program as its child
// is one agent with it, and which of them is a process' parent differs.
func outermost(ancestors []Process, i int, p Program) *Process {
	for i+1 < len(ancestors) && p.runs(ancestors[i+1]) {
		i++
	}
	return &ancestors[i]
}

// hops are programs that run a command as somebody else, often in a session of their own: the login session is the one
// that they were started from.
var hops = []string{"sudo", "doas", "su", "run0", "pkexec"}

// loginLeader finds the leader of the login session and whose it is. A session that a hop has opened is followed to
// the one outside.
func loginLeader(f Facts) (leader Process, user string) {
	session, owner := f.Session, f.User
	for i, p := range f.Ancestors {
		if isHop(p) {
			if i+1 < len(f.Ancestors) {
				outside := f.Ancestors[i+1]
				session, owner = outside.Session, outside.User
			}
		}
	}
	leader = Process{PID: session}
	for _, p := range f.Ancestors {
		if p.PID == session && session != 0 {
			leader = p
			if p.User != "" && !isHop(p) {
				owner = p.User
			}
			break
		}
	}
	return leader, owner
}

func isHop(p Process) bool {
	name := ProgramName(p.Exe)
	for _, h := range hops {
		if name == h {
			return true
		}
	}
	return false
}

// processID is the id of a process on this host.
func processID(f Facts, name string, p Process) string {
	return digestID(name, f.Host, f.BootID, f.Namespace, fmt.Sprint(p.PID), p.Start)
}

// digestID is an id made of parts that may be private, like an agent's own session id: only their digest is kept.
func digestID(name string, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return name + "-" + strings.ToLower(idText.EncodeToString(h.Sum(nil)))[:16]
}

// longestStated is how much of a stated session id is kept as it is.
const longestStated = 64

// statedID keeps a stated id that is a plain name, and digests every other: it is shown to others.
func statedID(v string) string {
	if len(v) > longestStated {
		return digestID("stated", v)
	}
	for _, r := range v {
		if !isWordRune(r) && r != '@' && r != '/' && r != ':' {
			return digestID("stated", v)
		}
	}
	return v
}

// sessionName is the session's name for people: who, whose, and as much of the id as tells it from its neighbours.
func sessionName(found Identified, f Facts) string {
	if found.Source == FromVariable {
		return found.ID
	}
	who := found.Program
	if who == "" {
		who = "term"
	}
	where := found.User
	if found.Kind == Pipeline || where == "" {
		where = f.Host
	}
	_, tail, _ := strings.Cut(found.ID, "-")
	return who + "@" + where + "/" + tail[:min(4, len(tail))]
}

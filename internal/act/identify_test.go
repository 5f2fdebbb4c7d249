package act_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
)

// Processes of a machine. Sessions are those of their leaders.
var (
	initd    = act.Process{PID: 1, Start: "1", Session: 1, User: "root", Exe: "/usr/lib/systemd/systemd"}
	terminal = act.Process{PID: 100, Start: "500", Session: 100, User: "alice", Exe: "/usr/bin/gnome-terminal"}
	shell    = act.Process{PID: 110, Start: "510", Session: 110, User: "alice", Exe: "/usr/bin/bash"}
	claude   = act.Process{PID: 200, Start: "900", Session: 110, User: "alice", Exe: "/usr/bin/node", Argv: []string{"node", "--no-warnings", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"}}
	codex    = act.Process{PID: 300, Start: "950", Session: 110, User: "alice", Exe: "/opt/codex/bin/codex"}
)

// in is a process at the end of a chain of ancestors, nearest first.
func in(session int, env map[string]string, ancestors ...act.Process) act.Facts {
	return act.Facts{Env: env, Ancestors: ancestors, Session: session, User: "alice", Host: "laptop", BootID: "b1"}
}

// bash is a shell process with a session of its own.
func bash(pid, session int) act.Process {
	return act.Process{PID: pid, Start: "s" + string(rune('a'+pid%26)), Session: session, User: "alice", Exe: "/bin/bash"}
}

func identify(f act.Facts) act.Identified { return act.Identify(f, act.Programs()) }

func TestAnAgentThatStartsAShellPerCommandIsOneSession(t *testing.T) {
	first := identify(in(401, nil, bash(401, 401), codex, shell, terminal, initd))
	second := identify(in(402, nil, bash(402, 402), codex, shell, terminal, initd))
	if first.ID != second.ID || first.Kind != act.Agent || first.Program != "codex" || first.Source != act.FromAncestor {
		t.Errorf("got %+v and %+v", first, second)
	}
	other := codex
	other.PID, other.Start = 301, "951"
	if third := identify(in(403, nil, bash(403, 403), other, shell, terminal, initd)); third.ID == first.ID {
		t.Error("two agents are one session")
	}
	reused := codex
	reused.Start = "99999"
	if third := identify(in(403, nil, bash(403, 403), reused, shell, terminal, initd)); third.ID == first.ID {
		t.Error("a process id that was used again is taken for the agent that had it")
	}
}

func TestAnAgentsMCPServerIsItsSession(t *testing.T) {
	env := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "11111111-2222"}
	tool := identify(in(501, env, bash(501, 501), claude, shell, terminal, initd))
	if tool.Source != act.FromAgent || len(tool.Aliases) != 1 {
		t.Fatalf("the shell tool: %+v", tool)
	}
	// The MCP server is a child of the agent without its variable. Before anything is known it has the alias' id.
	early := identify(in(110, nil, claude, shell, terminal, initd))
	if early.ID != tool.Aliases[0] || early.Source != act.FromAncestor {
		t.Errorf("the MCP server first: %+v", early)
	}
	if !(act.Session{ID: early.ID}).Is(act.Session{ID: tool.ID, Aliases: tool.Aliases}) {
		t.Error("the two are not seen to be one session")
	}
	f := in(110, nil, claude, shell, terminal, initd)
	f.Known = map[string]string{tool.Aliases[0]: tool.ID}
	if server := identify(f); server.ID != tool.ID || server.Kind != act.Agent {
		t.Errorf("the MCP server, once the shell tool was seen: %+v", server)
	}
	if strings.Contains(tool.ID, "11111111") {
		t.Error("the agent's own id is shown to others")
	}
}

func TestALauncherIsOneWithItsAgent(t *testing.T) {
	launcher := act.Process{PID: 299, Start: "940", Session: 110, User: "alice", Exe: "/usr/bin/node", Argv: []string{"node", "/lib/node_modules/@openai/codex/bin/codex.js"}}
	tool := identify(in(401, nil, bash(401, 401), codex, launcher, shell))
	server := identify(in(110, nil, launcher, shell))
	if tool.ID != server.ID {
		t.Errorf("got %s and %s", tool.ID, server.ID)
	}
	nested := codex
	nested.PID, nested.Start = 450, "990"
	inner := identify(in(460, nil, bash(460, 460), nested, bash(401, 401), codex, launcher, shell))
	if inner.ID == tool.ID {
		t.Error("an agent that another one's shell started is the same session")
	}
}

func TestAnInheritedVariableIsNotAnAgentsOwn(t *testing.T) {
	env := map[string]string{"CLAUDE_CODE_SESSION_ID": "outer"}
	got := identify(in(401, env, bash(401, 401), codex, bash(501, 501), claude, shell))
	if got.Program != "codex" || got.Source != act.FromAncestor {
		t.Errorf("codex under claude: %+v", got)
	}
	env["CODEX_THREAD_ID"] = "inner"
	got = identify(in(401, map[string]string{"CODEX_THREAD_ID": "inner"}, bash(401, 401), codex, shell))
	if got.Program != "codex" || got.Source != act.FromAgent {
		t.Errorf("codex by its own variable: %+v", got)
	}
}

func TestANestedAgentOfTheSameKindIsItsOwnSession(t *testing.T) {
	env := map[string]string{"CODEX_THREAD_ID": "outer"}
	outer := identify(in(401, env, bash(401, 401), codex, shell))
	inner := codex
	inner.PID, inner.Start = 450, "990"
	f := in(460, env, bash(460, 460), inner, bash(401, 401), codex, shell)
	f.Known = map[string]string{outer.Aliases[0]: outer.ID}
	if got := identify(f); got.ID == outer.ID || got.Source != act.FromAncestor || got.Program != "codex" {
		t.Errorf("with the outer one's variable: %+v", got)
	}
	f.Env = map[string]string{"CODEX_THREAD_ID": "inner"}
	if got := identify(f); got.ID == outer.ID || got.Source != act.FromAgent {
		t.Errorf("with its own variable: %+v", got)
	}
}

func TestSixPanesOfTmuxAreSixSessions(t *testing.T) {
	tmux := act.Process{PID: 600, Start: "1000", Session: 600, User: "alice", Exe: "/usr/bin/tmux"}
	seen := map[string]bool{}
	for pane := range 6 {
		env := map[string]string{"TMUX": "/tmp/tmux-1000/default,600,0", "TMUX_PANE": "%" + string(rune('0'+pane))}
		pid := 610 + pane
		one := identify(in(pid, env, bash(pid, pid), tmux, initd))
		two := identify(in(pid, env, act.Process{PID: 700 + pane, Session: pid, Exe: "/bin/make"}, bash(pid, pid), tmux, initd))
		if one.ID != two.ID {
			t.Errorf("pane %d is two sessions", pane)
		}
		seen[one.ID] = true
	}
	if len(seen) != 6 {
		t.Errorf("six panes are %d sessions", len(seen))
	}
}

func TestSSHIsASessionOfTheOtherMachine(t *testing.T) {
	sshd := act.Process{PID: 800, Start: "5", Session: 800, User: "alice", Exe: "/usr/sbin/sshd"}
	here := identify(in(110, nil, shell, terminal, initd))
	there := in(810, map[string]string{"SSH_CONNECTION": "10.0.0.9 1 10.0.0.1 22"}, bash(810, 810), sshd, initd)
	there.Host, there.BootID = "bastion", "b2"
	first := identify(there)
	if first.Kind != act.Person || first.Source != act.FromLogin || first.ID == here.ID || !strings.HasPrefix(first.Name, "term@alice/") {
		t.Errorf("got %+v", first)
	}
	there.Session, there.Ancestors = 820, []act.Process{bash(820, 820), sshd, initd}
	if second := identify(there); second.ID == first.ID {
		t.Error("two logins are one session")
	}
}

func TestSudoStaysInItsSession(t *testing.T) {
	plain := identify(in(110, nil, shell, terminal, initd))
	sudo := act.Process{PID: 900, Start: "2000", Session: 110, User: "root", Exe: "/usr/bin/sudo"}
	f := in(110, nil, sudo, shell, terminal, initd)
	f.User = "root"
	if got := identify(f); got.ID != plain.ID || got.User != "alice" {
		t.Errorf("sudo in the terminal's session: %+v, want %s", got, plain.ID)
	}
	// With a terminal of its own, sudo's monitor leads a new session.
	monitor := act.Process{PID: 901, Start: "2001", Session: 901, User: "root", Exe: "/usr/bin/sudo"}
	f = in(901, nil, monitor, sudo, shell, terminal, initd)
	f.User = "root"
	if got := identify(f); got.ID != plain.ID || got.User != "alice" {
		t.Errorf("sudo with a terminal of its own: %+v, want %s", got, plain.ID)
	}
	// An agent's sudo is the agent's.
	agent := identify(in(401, nil, bash(401, 401), codex, shell))
	f = in(902, nil, act.Process{PID: 902, Session: 902, User: "root", Exe: "/usr/bin/sudo"}, bash(401, 401), codex, shell)
	f.User = "root"
	if got := identify(f); got.ID != agent.ID || got.User != "alice" {
		t.Errorf("sudo of an agent: %+v", got)
	}
}

func TestAPipelinesJobsAreOneSession(t *testing.T) {
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "77"}
	one := in(10, env, bash(10, 10), initd)
	two := in(20, env, bash(20, 20), initd)
	two.Host, two.BootID = "runner-2", "b9"
	a, b := identify(one), identify(two)
	if a.ID != b.ID || a.Kind != act.Pipeline || a.Program != "github" || a.Source != act.FromPipeline {
		t.Errorf("got %+v and %+v", a, b)
	}
	env = maps.Clone(env)
	env["GITHUB_RUN_ID"] = "78"
	if c := identify(in(10, env, bash(10, 10), initd)); c.ID == a.ID {
		t.Error("two runs are one session")
	}
	env["CLAUDE_CODE_SESSION_ID"] = "x"
	if c := identify(in(10, env, bash(10, 10), claude, initd)); c.Kind != act.Agent {
		t.Errorf("an agent in a pipeline: %+v", c)
	}
}

func TestASandboxWithoutHomeHasItsSession(t *testing.T) {
	// Processes are counted anew, there is no home, and variables with words like TOKEN are stripped.
	f := in(0, map[string]string{"TMPDIR": "/tmp/x", "CODEX_SANDBOX": "seccomp"}, bash(2, 0))
	f.Namespace = "pid:[4026532001]"
	one := identify(f)
	if one.ID == "" || one.Source != act.FromLogin || one.ID != identify(f).ID || one.Kind != act.Agent || one.Program != "codex" {
		t.Errorf("got %+v", one)
	}
	f.Namespace = "pid:[4026532002]"
	if identify(f).ID == one.ID {
		t.Error("two sandboxes with the same process ids are one session")
	}
	f.Env["CODEX_THREAD_ID"] = "t1"
	if got := identify(f); got.Kind != act.Agent || got.Source != act.FromAgent {
		t.Errorf("with the agent's variable: %+v", got)
	}
}

func TestTheStatedSessionWins(t *testing.T) {
	env := map[string]string{act.SessionVariable: "release-42", "CLAUDE_CODE_SESSION_ID": "x", "GITHUB_RUN_ID": "1", "GITHUB_REPOSITORY": "o/r"}
	got := identify(in(401, env, bash(401, 401), claude, shell))
	if got.ID != "release-42" || got.Source != act.FromVariable || got.Kind != act.Agent || got.Program != "claude" {
		t.Errorf("got %+v", got)
	}
	got = identify(in(110, map[string]string{act.SessionVariable: "release-42"}, shell))
	if got.ID != "release-42" || got.Kind != act.Person {
		t.Errorf("a person's: %+v", got)
	}
	got = identify(in(110, map[string]string{act.SessionVariable: "pass word\n; rm -rf"}, shell))
	if !strings.HasPrefix(got.ID, "stated-") {
		t.Errorf("text that is no name is shown: %+v", got)
	}
	if long := identify(in(1, map[string]string{act.SessionVariable: strings.Repeat("a", 65)}, shell)); !strings.HasPrefix(long.ID, "stated-") {
		t.Errorf("a long one is kept: %+v", long)
	}
}

func TestTwoTerminalsAreTwoSessions(t *testing.T) {
	one := identify(in(110, nil, bash(110, 110), terminal, initd))
	two := identify(in(120, nil, bash(120, 120), terminal, initd))
	if one.ID == two.ID {
		t.Error("two terminals are one session")
	}
	after := in(110, nil, bash(110, 110), terminal, initd)
	after.BootID = "b2"
	if identify(after).ID == one.ID {
		t.Error("a session outlives a restart of the machine")
	}
	orphan := identify(in(110, nil, initd)) // the leader has gone: nohup
	if orphan.ID == "" || orphan.Source != act.FromLogin {
		t.Errorf("without a leader: %+v", orphan)
	}
}

// Control: without the rule for ancestors, every command of an agent is a session of its own.
func TestIdentifyControl(t *testing.T) {
	noAgents := slices.DeleteFunc(slices.Clone(act.Programs()), func(p act.Program) bool { return p.Kind == act.Agent })
	a := act.Identify(in(401, nil, bash(401, 401), codex, shell), noAgents)
	b := act.Identify(in(402, nil, bash(402, 402), codex, shell), noAgents)
	if a.ID == b.ID || a.Kind != act.Person {
		t.Errorf("the rule for ancestors is not what makes one session of them: %+v, %+v", a, b)
	}
}

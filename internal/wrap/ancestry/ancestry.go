// Package ancestry gathers what tells a session: the chain of processes from this one upwards, the environment, the login
// session, the host and its boot. What it makes of that is decided in package act.
package ancestry

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clewops/clew/internal/act"
)

// deepest is how far up the chain of processes is followed.
const deepest = 64

// Gather gathers the facts about this process. What cannot be read stays empty. known are remembered aliases.
func Gather(env []string, known map[string]string) act.Facts {
	f := act.Facts{
		Env: map[string]string{}, Known: known, Session: session(), User: userName(os.Getuid()),
		BootID: BootID(), Namespace: namespace(), Ancestors: ancestors(os.Getppid()),
	}
	f.Host, _ = os.Hostname()
	for _, v := range env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			f.Env[name] = value
		}
	}
	return f
}

// ancestors is the chain of processes from one upwards.
func ancestors(pid int) []act.Process {
	var list []act.Process
	names := map[int]string{}
	for pid > 0 && len(list) < deepest {
		p, uid, parent, ok := process(pid)
		if !ok {
			break
		}
		if uid >= 0 {
			if _, ok := names[uid]; !ok {
				names[uid] = userName(uid)
			}
			p.User = names[uid]
		}
		list = append(list, p)
		pid = parent
	}
	return list
}

// userName is a user's name, or the number where nobody gave it a name.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// Remembered reads the aliases of sessions that were seen on this host: alias and id, a line each.
func Remembered(dir string) map[string]string {
	known := map[string]string{}
	b, err := os.ReadFile(aliasFile(dir))
	if err != nil {
		return known
	}
	for line := range strings.Lines(string(b)) {
		if alias, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			known[alias] = id
		}
	}
	return known
}

// mostRemembered is the size at which the file of aliases begins anew: what is in it matters while a session lasts.
const mostRemembered = 64 << 10

// Remember keeps a session's aliases. To forget one costs a session its other half, and nothing else.
func Remember(dir string, found act.Identified, known map[string]string) error {
	var text strings.Builder
	for _, alias := range found.Aliases {
		if known[alias] != found.ID && !strings.ContainsAny(alias+found.ID, " \n") {
			text.WriteString(alias + " " + found.ID + "\n")
		}
	}
	if text.Len() == 0 {
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(aliasFile(dir)); err == nil && info.Size() > mostRemembered {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(aliasFile(dir), flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func aliasFile(dir string) string { return filepath.Join(dir, "aliases") }

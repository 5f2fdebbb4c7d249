package wrap

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/wrap/ancestry"
	"github.com/clewops/clew/internal/wrap/situation"
)

// longestSegment bounds what stands in a prompt, in characters.
const longestSegment = 60

// old is the age from which a prompt says that what it knows is old.
const old = 10 * time.Minute

// Prompt is the prompt's segment: the notices that concern this session, from what is kept. Empty: nothing concerns it.
func Prompt(env []string) string {
	r := &run{env: env}
	if r.dirs, r.dirsErr = config.FindDirs(r.getenv); r.dirsErr != nil {
		return ""
	}
	s := r.kept()
	if s == nil {
		return ""
	}
	defer s.Close()
	if len(s.Notices) == 0 {
		return ""
	}
	id := act.Identify(ancestry.Gather(env, ancestry.Remembered(JournalDir(r.dirs))), act.Programs())
	return segment(&s.Head, append([]string{id.ID}, id.Aliases...), time.Now())
}

func segment(h *situation.Head, ids []string, now time.Time) string {
	list := h.Mine(ids)
	if len(list) == 0 {
		return ""
	}
	more := ""
	if len(list) > 1 {
		more = fmt.Sprintf(" +%d", len(list)-1)
	}
	if age := now.Sub(h.Ledger); age > old {
		more += fmt.Sprintf(" (%d min old)", int(age/time.Minute))
	}
	text := []rune(oneLine("clew: " + list[0].Act + " " + doing(list[0])))
	if most := longestSegment - len(more); len(text) > most {
		text = append(text[:most-2], '.', '.')
	}
	return string(text) + more
}

package drill

import (
	"strings"

	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

func init() {
	register(Row{
		ID: "022",
		Case: "configurations that only the node refuses: machine.files changed under no-reboot; and one with an unknown machine.type, " +
			"forced past planning",
		Expect: "files.operation=rejected; files.states=committed, sending, rejected; files.attempts=1; files.responses=rejected; files.landings=0; " +
			"type.refused-at-planning=true; type.operation=rejected; type.states=committed, sending, rejected; type.attempts=1; type.responses=rejected; type.landings=0; " +
			"answered=InvalidArgument 2; landings=0; runs=before; moved=no; files.exit=5; type.exit=5",
		Script: func(s *Stage) {
			s.labOnly("nothing but a label is ever sent")
			m := s.Machine(0)
			before := s.ReadNode(m)
			s.refusedByNode(s.Propose(m, "files", []byte(
				"machine:\n  files:\n    - path: /var/drill\n      content: drill\n      permissions: 0o644\n      op: create\n")))
			unknown := strings.Replace(string(m.config), "type: worker", "type: mainframe", 1)
			_, err := talos.ApplyPatches(secret.Of(m.config), [][]byte{[]byte("machine:\n  type: mainframe\n")})
			_, refused := refusal.As(err)
			s.Set("type.refused-at-planning", refused)
			s.refusedByNode(s.ProposeConfig(m, "type", []byte(unknown)))
			moved := "no"
			if s.ReadNode(m) != before {
				moved = "yes"
			}
			s.Set("moved", moved)
		},
	})
}

// refusedByNode approves and dispatches a plan under its own name.
func (s *Stage) refusedByNode(p *Plan) {
	s.Approve(p, approver)
	s.Dispatch(p.Name, p).Ends()
}

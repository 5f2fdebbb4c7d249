package act

import "time"

// SessionKind says who or what is at work.
type SessionKind string

// Kinds of sessions.
const (
	Person   SessionKind = "person"
	Agent    SessionKind = "agent"
	Pipeline SessionKind = "pipeline"
)

// Assurance says what a session's identity rests on.
type Assurance string

// Assurances. An asserted identity is what the session says of itself; it grants nothing.
const (
	Asserted      Assurance = "asserted"
	Authenticated Assurance = "authenticated"
)

// Presence says whether a session still answers.
type Presence string

// Presences. A session that stops answering is unknown; only one that said goodbye has ended.
const (
	Present      Presence = "present"
	PresenceLost Presence = "unknown"
	Ended        Presence = "ended"
)

// Session is a person, an agent or a pipeline at work.
type Session struct {
	ID        string      `json:"id"`   // stable while the session lasts; see Identify
	Name      string      `json:"name"` // for people: claude@alice/3f
	Kind      SessionKind `json:"kind"`
	Identity  string      `json:"identity"`
	Assurance Assurance   `json:"assurance"`
	Host      string      `json:"host"`
	Source    IDSource    `json:"source"`            // which rule gave the id
	Aliases   []string    `json:"aliases,omitempty"` // other ids by which the same session may be met
	LastSeen  time.Time   `json:"last_seen"`
	SaidBye   bool        `json:"said_bye,omitempty"`
}

// Presence judges the session at a moment. Silence never means that it ended.
func (s Session) Presence(now time.Time, patience time.Duration) Presence {
	switch {
	case s.SaidBye:
		return Ended
	case now.Sub(s.LastSeen) > patience:
		return PresenceLost
	default:
		return Present
	}
}

// Is says whether both are the same session: by id, or by an alias of one of them.
func (s Session) Is(other Session) bool {
	for _, a := range append([]string{s.ID}, s.Aliases...) {
		for _, b := range append([]string{other.ID}, other.Aliases...) {
			if a == b {
				return true
			}
		}
	}
	return false
}

package cli

import (
	"io"
	"sync"
)

// voice writes whole lines in order without making the speaker wait. What an executor says of its steps goes this way: a
// terminal that was stopped, or a pipe that nobody reads, must not hold up a send, its record or a retry.
type voice struct {
	out io.Writer

	mu       sync.Mutex
	idle     sync.Cond // on mu: nothing is waiting or being written
	waiting  []string
	speaking bool
}

func newVoice(out io.Writer) *voice {
	v := &voice{out: out}
	v.idle.L = &v.mu
	return v
}

// say queues text and returns at once.
func (v *voice) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting = append(v.waiting, text)
	if !v.speaking {
		v.speaking = true
		go v.speak()
	}
}

func (v *voice) speak() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.waiting) > 0 {
		text := v.waiting[0]
		v.waiting = v.waiting[1:]
		v.mu.Unlock()
		_, _ = io.WriteString(v.out, text) // nobody reads: there is nobody to tell
		v.mu.Lock()
	}
	v.speaking = false
	v.idle.Broadcast()
}

// hush waits until everything said is written. Whoever writes to the same stream by other means calls it first.
func (v *voice) hush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.speaking {
		v.idle.Wait()
	}
}

package pgserver

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// watchScript cleans up when its standard input closes, which the kernel sees to however the starting process ends.
// It learns the ids of the processes from the same pipe, and signals one only while its arguments name this server's
// directory, because by then the id may belong to somebody else. A postmaster that was killed leaves a small shared
// memory segment, which its lock file names on line 7.
const watchScript = `
dir=$1 pid=
ours() { { tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } 2>/dev/null | grep -qF -- "$dir/"; }
while read -r line; do pid=$line; done
if [ -n "$pid" ] && ours; then
  kill -QUIT "$pid"
  n=0
  while ours && [ "$n" -lt 100 ]; do sleep 0.1; n=$((n+1)); done
  if ours; then kill -KILL "$pid"; fi
fi
segment=$(sed -n 7p "$dir/data/postmaster.pid" 2>/dev/null | { read -r key id; echo "$id"; })
if [ -n "$segment" ]; then ipcrm -m "$segment" 2>/dev/null; fi
n=0
until rm -rf -- "$dir" 2>/dev/null || [ "$n" -ge 100 ]; do sleep 0.1; n=$((n+1)); done
[ ! -e "$dir" ]
`

// watcher is the process that cleans up after a server.
type watcher struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
	once sync.Once
	err  error
	out  strings.Builder
}

// startWatcher starts the watcher of a server's directory.
func startWatcher(dir string) (*watcher, error) {
	w := &watcher{cmd: exec.Command("/bin/sh", "-c", watchScript, "clew-pg-watch", dir)}
	w.cmd.Dir = "/"
	w.cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must outlive an interrupt typed at the terminal
	w.cmd.Stderr = &w.out
	pipe, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	w.pipe = pipe
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watcher of a PostgreSQL server: %w", err)
	}
	return w, nil
}

// track tells the watcher which process to end. Should the watcher be gone, the server still works and Stop still
// stops it: then the write fails, and finish reports it.
func (w *watcher) track(pid int) {
	if _, err := fmt.Fprintf(w.pipe, "%d\n", pid); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

// finish lets the watcher clean up and waits for it.
func (w *watcher) finish() error {
	w.once.Do(func() {
		err := errors.Join(w.pipe.Close(), w.cmd.Wait())
		if err != nil {
			w.err = errors.Join(w.err, fmt.Errorf("clean up after PostgreSQL: %w: %s", err, w.out.String()))
		}
	})
	return w.err
}

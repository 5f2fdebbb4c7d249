package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// endLimit is how long a postmaster gets for an orderly end before it is killed.
const endLimit = 30 * time.Second

// process is one run of the postmaster.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has been waited for
}

// end signals the process and waits until it is gone; what does not end in time is killed.
func (p *process) end(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(endLimit):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	<-p.gone
	return nil
}

// initdb makes the data directory. The password goes through a file that is gone afterwards, never through argv.
func (s *Server) initdb(ctx context.Context, password string) (err error) {
	pwfile := filepath.Join(s.dir, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(pwfile)) }()
	if err := s.user.own(pwfile); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"),
		"--pgdata="+s.Dir(), "--username="+superuser, "--pwfile="+pwfile, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Env = serverEnv()
	cmd.Dir = s.dir
	s.user.apply(cmd)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	s.watch.track(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out.String())
	}
	return nil
}

// serverEnv is the environment of the server's programs: the caller's PG* and LC_* variables would change what they
// do and in which language they say it.
func serverEnv() []string { return []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"} }

// configure writes the settings of this server after those that initdb chose; the last one of a name wins.
func (s *Server) configure(o Options) error {
	var b strings.Builder
	set := func(name, value string) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	set("listen_addresses", "127.0.0.1")
	set("unix_socket_directories", "")
	// Segments in files of the data directory: nothing stays in /dev/shm after a kill.
	set("dynamic_shared_memory_type", "mmap")
	set("shared_buffers", "32MB")
	set("max_connections", "200")
	if !o.Durable {
		set("fsync", "off")
	}
	for name, value := range o.Settings {
		set(name, value)
	}
	f, err := os.OpenFile(filepath.Join(s.Dir(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, b.String())
	return errors.Join(err, f.Close())
}

// launch starts the postmaster and returns when it answers. On failure nothing of it runs any more, and the error has
// the end of the server's log. The caller holds mu, or is alone.
func (s *Server) launch(ctx context.Context) error {
	logPath := filepath.Join(s.dir, "log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.Dir(), "-p", strconv.Itoa(s.port))
	cmd.Env = serverEnv()
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	s.user.apply(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.watch.track(cmd.Process.Pid)
	p := &process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.gone)
	}()
	if err := s.answers(ctx, p); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w\n%s", err, tail(logPath)), p.end(syscall.SIGQUIT))
	}
	s.proc = p
	return nil
}

// answers waits until the server accepts a connection, has ended, or ctx is done.
func (s *Server) answers(ctx context.Context, p *process) error {
	for {
		conn, err := pgx.Connect(ctx, s.url.Reveal())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.gone:
			return errors.New("the server ended")
		case <-ctx.Done():
			return fmt.Errorf("%w; the last attempt to connect: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail is the end of a log file.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const keep = 4096
	return string(b[max(0, len(b)-keep):])
}

// freePort finds a port on which nothing listens, below the range that the kernel hands out to outgoing connections:
// such a connection could otherwise take the port while the server restarts.
func freePort() (int, error) {
	const low, high = 15000, 32000
	for range 100 {
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		return port, nil
	}
	return 0, errors.New("no free port for a PostgreSQL server")
}

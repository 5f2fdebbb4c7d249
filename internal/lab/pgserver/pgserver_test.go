package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clewops/clew/internal/config"
)

// holderVariable makes the test binary start a server, say where, and wait to be killed.
const holderVariable = "CLEW_PGSERVER_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderVariable) != "" {
		hold()
		return
	}
	os.Exit(m.Run())
}

// hold is the process that dies without a chance to clean up.
func hold() {
	s, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.dir, s.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// start starts a server for one test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// query runs one query that returns one text.
func query(t *testing.T, u config.DatabaseURL, sql string) (string, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.Reveal())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var got string
	return got, conn.QueryRow(t.Context(), sql).Scan(&got)
}

// mustQuery is query for what has to work.
func mustQuery(t *testing.T, u config.DatabaseURL, sql string) string {
	t.Helper()
	got, err := query(t, u, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

// eventually waits for a condition, generously: the machine may be loaded.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// alive says whether a process exists. Signal 0 is only a question.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestServerWorksAndLeavesNothing(t *testing.T) {
	s := start(t, Options{Settings: map[string]string{"application_name": "it's set"}})
	if got := mustQuery(t, s.URL(), "SHOW application_name"); got != "it's set" {
		t.Errorf("the setting is %q", got)
	}
	if got := mustQuery(t, s.URL(), "SHOW fsync"); got != "off" {
		t.Errorf("fsync is %q", got)
	}
	u, err := s.CreateDatabase(t.Context(), `odd "name"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustQuery(t, u, "SELECT current_database()::text"); got != `odd "name"` {
		t.Errorf("connected to %q", got)
	}
	pid := s.PID()
	for range 2 { // the second time there is nothing to do
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if exists(s.dir) || alive(pid) || s.PID() != 0 {
		t.Errorf("left behind: directory %v, process %v", exists(s.dir), alive(pid))
	}
}

func TestPasswordIsNeededAndHidden(t *testing.T) {
	s := start(t, Options{Durable: true})
	if got := mustQuery(t, s.URL(), "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %q in a durable server", got)
	}
	wrong := fmt.Sprintf("postgres://%s:wrong@127.0.0.1:%d/postgres?sslmode=disable", superuser, s.Port())
	_, err := pgx.Connect(t.Context(), wrong)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "28P01" {
		t.Errorf("a wrong password gave %v, want SQLSTATE 28P01", err)
	}
	parsed, err := pgx.ParseConfig(s.URL().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID()))
	if err == nil && strings.Contains(string(argv), parsed.Password) {
		t.Error("the password is in the server's arguments")
	}
	if exists(filepath.Join(s.dir, "password")) {
		t.Error("the password file was left")
	}
}

func TestRunsUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this process is not root, so the server runs as its user")
	}
	s := start(t, Options{})
	info, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid == 0 {
		t.Errorf("the postmaster runs as %+v", info.Sys())
	}
}

func TestKillAndRestartKeepCommittedData(t *testing.T) {
	s := start(t, Options{})
	if _, err := s.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	const look = "SELECT datname::text FROM pg_database WHERE datname = 'kept'"
	port, pid := s.Port(), s.PID()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the postmaster survived its kill")
	}
	if _, err := query(t, s.URL(), "SELECT 'x'"); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := mustQuery(t, s.URL(), look); got != "kept" || s.Port() != port || s.PID() == pid {
		t.Errorf("after the restart: %q on port %d as process %d", got, s.Port(), s.PID())
	}
	if err := s.Restart(t.Context()); err != nil { // of a server that runs
		t.Fatal(err)
	}
	mustQuery(t, s.URL(), look)
}

func TestStopAfterKillLeavesNoSharedMemory(t *testing.T) {
	s := start(t, Options{})
	lock, err := os.ReadFile(filepath.Join(s.Dir(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(lock), "\n")
	fields := strings.Fields(lines[6])
	if len(fields) != 2 || !segmentExists(t, fields[1]) {
		t.Skipf("no shared memory segment to look for (%q)", lines[6])
	}
	if err := errors.Join(s.Kill(), s.Stop()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the segment is gone", func() bool { return !segmentExists(t, fields[1]) })
	if exists(s.dir) {
		t.Error("the directory was left")
	}
}

// segmentExists looks a System V segment up in the kernel's own list.
func segmentExists(t *testing.T, id string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == id {
			return true
		}
	}
	return false
}

func TestSeveralAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	servers := make([]*Server, 3)
	for i := range servers {
		wg.Go(func() {
			s, err := Start(t.Context(), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	ports := map[int]bool{}
	for _, s := range servers {
		if s == nil {
			continue
		}
		ports[s.Port()] = true
		mustQuery(t, s.URL(), "SELECT 'x'")
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if len(ports) != len(servers) {
		t.Errorf("%d servers on ports %v", len(servers), ports)
	}
}

func TestStartedProcessDies(t *testing.T) {
	if _, err := findBinaries(); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(exe)
	holder.Env = append(os.Environ(), holderVariable+"=1")
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	dir, pidText, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		t.Fatalf("the holder said %q: %v", line, err)
	}
	pid, err := strconv.Atoi(pidText)
	if err != nil || !exists(dir) || !alive(pid) {
		t.Fatalf("control: no server %q runs: %v", line, err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	eventually(t, "the server is gone", func() bool { return !alive(pid) })
	eventually(t, "its directory is gone", func() bool { return !exists(dir) })
}

func TestStartGivesUp(t *testing.T) {
	base := t.TempDir()
	if os.Geteuid() == 0 {
		base = openDir(t)
	}
	s, err := Start(t.Context(), Options{Dir: base, Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil {
		t.Fatalf("a server with a wrong setting started: %v", s.Stop())
	}
	if !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the error does not show the server's own words: %v", err)
	}
	left, err := os.ReadDir(base)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Dir: base}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start gave %v", err)
	}
}

// openDir is a directory that every user can reach: t.TempDir's parent is closed to others.
func openDir(t *testing.T) string {
	t.Helper()
	//lint:ignore usetesting the server's user could not reach it
	dir, err := os.MkdirTemp("/tmp", "clew-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestUnreachableDirectoryIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as somebody else")
	}
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: closed})
	if err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("got %v, want an error that names %s", err, closed)
	}
	t.Setenv("TMPDIR", closed)
	start(t, Options{}) // falls back to a directory that can be reached
}

func TestFreePortIsFree(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

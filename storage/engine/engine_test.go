package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const patience = 2 * time.Minute

func testConfig(dir string) Config {
	cfg := NewDefaultConfig(dir)
	cfg.ProbeInterval = 100 * time.Millisecond
	cfg.StopTimeout = 3 * time.Second
	return cfg
}

func start(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := Start(t.Context(), cfg, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Stop(context.Background())) })
	return e
}

func open(t *testing.T, dsn string) driver.Conn {
	t.Helper()
	opts, err := clickhouse.ParseDSN(dsn)
	require.NoError(t, err)
	conn, err := clickhouse.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// A block that the engine noted before it was killed, and does not have, must not pass for written when it comes again.
func TestNoInsertIsTakenForARepeatedOne(t *testing.T) {
	conn := open(t, start(t, testConfig(filepath.Join(t.TempDir(), "data"))).DSN("default"))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x"))
	for range 2 {
		require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t VALUES (7)"))
	}
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&n))
	require.EqualValues(t, 2, n)
}

func TestUsers(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "data"))
	cfg.HTTPPort = 0
	e := start(t, cfg)
	require.True(t, e.Healthy())
	require.NotEmpty(t, e.HTTPAddr())

	for _, name := range []string{"credentials.json", "users.xml", "config.xml", "lock"} {
		st, err := os.Stat(filepath.Join(cfg.DataDir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode().Perm(), name)
	}
	st, err := os.Stat(cfg.DataDir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())

	admin := open(t, e.DSN("default"))
	require.NoError(t, admin.Exec(t.Context(), "CREATE DATABASE fermata"))
	require.NoError(t, admin.Exec(t.Context(), "CREATE TABLE fermata.t (x UInt8) ENGINE = MergeTree ORDER BY x"))
	require.NoError(t, admin.Exec(t.Context(), "INSERT INTO fermata.t VALUES (7)"))

	reader := open(t, e.ReaderDSN("fermata"))
	var x uint8
	require.NoError(t, reader.QueryRow(t.Context(), "SELECT x FROM t").Scan(&x))
	require.EqualValues(t, 7, x)
	for _, q := range []string{
		"INSERT INTO t VALUES (8)", "DROP TABLE t", "SYSTEM SHUTDOWN", "CREATE TABLE u (x UInt8) ENGINE = Memory",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')", "SET readonly = 0", "KILL QUERY WHERE 1",
	} {
		require.Error(t, reader.Exec(t.Context(), q), q)
	}

	pid := e.PID()
	for name, dsn := range map[string]string{
		"no database":    e.DSN("nowhere"),
		"nobody":         "clickhouse://" + e.Addr() + "/",
		"default":        "clickhouse://default@" + e.Addr() + "/",
		"wrong password": "clickhouse://fermata:wrong@" + e.Addr() + "/",
		"empty password": "clickhouse://reader@" + e.Addr() + "/",
	} {
		require.Error(t, open(t, dsn).Ping(t.Context()), name)
	}

	for _, junk := range []string{"GET / HTTP/1.0\r\n\r\n", "hello\n", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\xff"} {
		c, err := net.Dial("tcp", e.Addr())
		require.NoError(t, err)
		_, err = c.Write([]byte(junk))
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		_, err = io.Copy(io.Discard, c) // the engine hangs up, or answers that it can't make sense of it
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, junk)
		require.NoError(t, c.Close())
	}
	var limit string
	require.NoError(t, admin.QueryRow(t.Context(),
		"SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'").Scan(&limit))
	require.Equal(t, strconv.FormatInt(cfg.MaxMemoryBytes, 10), limit)
	require.Equal(t, pid, e.PID(), "no refused client ends the engine")
	require.Zero(t, e.Restarts())
}

func TestSecondProcessIsKeptOut(t *testing.T) {
	cfg := testConfig(t.TempDir())
	e := start(t, cfg)
	cfg.LockTimeout = 0
	_, err := Start(t.Context(), cfg, zap.NewNop())
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))

	cfg.LockTimeout = 100 * time.Millisecond
	core, logs := observer.New(zap.WarnLevel)
	_, err = Start(t.Context(), cfg, zap.New(core))
	require.ErrorIs(t, err, ErrLocked)
	require.Equal(t, 1, logs.Len(), "whoever waits is told at once, and once")
	require.Contains(t, logs.All()[0].ContextMap()["holder"], fmt.Sprintf("process %d", os.Getpid()))

	require.NoError(t, e.Stop(t.Context()))
	require.NoError(t, e.Stop(t.Context()), "stopping twice is harmless")
	again := start(t, cfg)
	require.Equal(t, e.creds, again.creds, "the passwords stay")
}

func TestRestartsAfterKill(t *testing.T) {
	e := start(t, testConfig(t.TempDir()))
	conn := open(t, e.DSN("default"))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt32) ENGINE = MergeTree ORDER BY x"))
	for i := range 3 {
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", i)))
		pid := e.PID()
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Eventually(t, func() bool { return e.Healthy() && e.PID() != pid }, patience, 5*time.Millisecond)
		var n uint64
		require.Eventually(t, func() bool {
			return conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&n) == nil
		}, patience, 5*time.Millisecond, "the same address and password work")
		require.EqualValues(t, i+1, n, "what was acknowledged is there")
	}
	require.EqualValues(t, 3, e.Restarts())
}

// A kill from outside is told as such; what the child printed long before has nothing to do with it.
func TestWhyTheChildEnded(t *testing.T) {
	run := func(script string) string {
		c := &child{cmd: exec.Command("sh", "-c", script), out: &tail{}}
		c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
		c.status = c.cmd.Run()
		return c.err().Error()
	}
	require.Equal(t, "engine process signal: killed", run("echo an old line; kill -9 $$"))
	require.Equal(t, "engine process exit status 1: 2; 3; 4; 5; no space left", run(`for i in 0 1 2 3 4 5; do echo $i; done; printf '\033[1mno space left\033[0m\n\n'; exit 1`))
}

func TestHungEngineIsReplaced(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.HangTimeout = 2 * time.Second
	e := start(t, cfg)
	pid := e.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return e.Healthy() && e.PID() != pid }, patience, 10*time.Millisecond)
}

func TestEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+dir)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	words := strings.Fields(line)
	require.Equal(t, "ready", words[0], line)
	pid, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	conn := open(t, words[2])
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt32) ENGINE = MergeTree ORDER BY x"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t SELECT number FROM numbers(1000)"))

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())

	// A new process may start at once: it waits for the old child to be gone.
	e := start(t, testConfig(dir))
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.True(t, err != nil || strings.Contains(string(stat), ") Z "), "the child of the killed process is gone: %s", stat)
	var n uint64
	require.NoError(t, open(t, e.DSN("default")).QueryRow(t.Context(), "SELECT count() FROM t").Scan(&n))
	require.EqualValues(t, 1000, n)
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	notALibrary := filepath.Join(t.TempDir(), "libchdb.so")
	require.NoError(t, os.WriteFile(notALibrary, []byte("not ELF"), 0o600))

	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"port in use":      {func(c *Config) { c.TCPPort = taken.Addr().(*net.TCPAddr).Port }, "tcp_port: "},
		"not a library":    {func(c *Config) { c.Library = notALibrary }, "load engine"},
		"no such library":  {func(c *Config) { c.Library = "/nowhere/libchdb.so" }, "/nowhere/libchdb.so, which is not a file"},
		"bad settings":     {func(c *Config) { c.TCPPort = -3 }, "tcp_port: -3"},
		"unwritable place": {func(c *Config) { c.DataDir = "/proc/fermata" }, "data folder"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t.TempDir())
			tc.change(&cfg)
			_, err := Start(t.Context(), cfg, zap.NewNop())
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := testConfig(t.TempDir())
	_, err := Start(ctx, cfg, zap.NewNop())
	require.ErrorIs(t, err, context.Canceled)
	start(t, cfg) // nothing was left behind
}

func TestDamagedCredentials(t *testing.T) {
	cfg := testConfig(t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "credentials.json"), []byte("{}"), 0o600))
	_, err := Start(t.Context(), cfg, zap.NewNop())
	require.ErrorContains(t, err, "credentials.json is damaged")
}

func TestFindLibrary(t *testing.T) {
	t.Setenv(LibraryEnv, "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("LD_LIBRARY_PATH", "")
	root := t.TempDir()
	work := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(work, 0o700))
	t.Chdir(work)

	_, err := FindLibrary("")
	require.ErrorIs(t, err, ErrNoLibrary)
	require.ErrorContains(t, err, "make engine")
	require.ErrorContains(t, err, LibraryEnv)

	place := filepath.Join(root, ".cache", "engine", "node_modules", "@chdb", "lib-linux-"+npmArch()+"-gnu")
	require.NoError(t, os.MkdirAll(place, 0o700))
	lib := filepath.Join(place, "libchdb.so")
	require.NoError(t, os.WriteFile(lib, nil, 0o600))
	got, err := FindLibrary("")
	require.NoError(t, err)
	require.Equal(t, lib, got)

	other := filepath.Join(root, "other.so")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	t.Setenv(LibraryEnv, other)
	got, err = FindLibrary("")
	require.NoError(t, err)
	require.Equal(t, other, got)
	got, err = FindLibrary(lib)
	require.NoError(t, err)
	require.Equal(t, lib, got, "the setting goes before the environment")
	_, err = FindLibrary(filepath.Join(root, "none.so"))
	require.ErrorContains(t, err, "--libchdb names")
}

func TestConfigValidate(t *testing.T) {
	def := NewDefaultConfig("/somewhere")
	require.NoError(t, def.Validate())

	bad := Config{TCPPort: 70000, HTTPPort: -2, LogLevel: "loud", LockTimeout: -1}
	err := bad.Validate()
	for _, key := range []string{
		"data_dir", "tcp_port", "http_port", "max_memory_bytes", "log_level", "log_max_bytes", "lock_timeout",
		"start_timeout", "stop_timeout", "probe_interval", "hang_timeout", "restart_backoff_max",
	} {
		require.ErrorContains(t, err, key+": ")
	}
	same := NewDefaultConfig("/somewhere")
	same.TCPPort, same.HTTPPort = 9000, 9000
	require.ErrorContains(t, same.Validate(), "same as tcp_port")
}

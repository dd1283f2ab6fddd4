package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// child is one run of the engine's process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // a byte asks the child to end; closing it ends it at once
	out    *tail
	exited chan struct{} // closed after wait
	status error         // of Wait; valid after exited
}

// startupQuery opens the listeners and then holds the default user's only session for ever, asleep.
func (e *Engine) startupQuery() string {
	q := "SYSTEM START LISTEN TCP; "
	if e.http != NoPort {
		q += "SYSTEM START LISTEN HTTP; "
	}
	return q + "SELECT sleep(0.5) FROM system.numbers FORMAT Null " +
		"SETTINGS max_block_size = 1, max_threads = 1, function_sleep_max_microseconds_per_block = 0"
}

// spawn starts a child. Call it on a thread that lives as long as the child should (see run).
func (e *Engine) spawn() (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	args := []string{
		childCommand, e.lib,
		"--interactive", // see replaceStdin
		"--progress=off", "--progress-table=off",
		"--config-file=" + e.cfg.path("config.xml"),
		"--path=" + e.cfg.storeDir(),
		"--listen_host=127.0.0.1",
		"--log-level=" + e.cfg.LogLevel,
		"--tcp_port=" + strconv.Itoa(e.tcp),
	}
	if e.http != NoPort {
		args = append(args, "--http_port="+strconv.Itoa(e.http))
	}
	args = append(args, "--query="+e.startupQuery())

	c := &child{cmd: exec.Command(exe, args...), out: &tail{}, exited: make(chan struct{})} //nolint:gosec,noctx // ourselves; ended by its supervisor
	c.cmd.Dir = e.cfg.DataDir
	// Nothing else of the parent's environment, which may hold secrets.
	c.cmd.Env = []string{
		childEnv + "=1", "TZ=UTC", "LANG=C.UTF-8", "HOME=" + e.cfg.DataDir, "TMPDIR=" + e.cfg.path("tmp"),
		"GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=2",
	}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.ExtraFiles = []*os.File{e.lock} // the lock lasts until the child is gone, whatever becomes of us
	c.cmd.SysProcAttr = childAttr()
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start engine: %w", err), c.stdin.Close())
	}
	go func() {
		c.status = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// kill ends the child at once and waits until it is gone. ClickHouse survives that without loss.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.exited
}

// err says how the child ended; call it after exited.
func (c *child) err() error {
	reason := "ended without being asked to"
	if c.status != nil {
		reason = c.status.Error()
	}
	// What it printed explains an end of its own accord, not a signal from outside.
	if out := lastWords(c.out.String()); out != "" && !signalled(c.cmd.ProcessState) {
		reason += ": " + out
	}
	return errors.New("engine process " + reason)
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// lastWords are the last lines of what the child printed, for a terminal.
func lastWords(out string) string {
	const most = 5
	var lines []string
	for l := range strings.Lines(escapes.ReplaceAllString(out, "")) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "; ")
}

// signalled reports whether a signal ended the process.
func signalled(s *os.ProcessState) bool {
	ws, ok := s.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// tail keeps the last lines of the child's output.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

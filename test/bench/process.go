package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fermata-io/fermata/internal/freeport"
)

// process is a child whose CPU and memory are measured.
type process struct {
	name  string
	cmd   *exec.Cmd
	out   *tail
	ended chan struct{} // closed when it has ended
	err   error
}

// tail keeps the end of what a process says, for errors.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4 << 10
	if t.b = append(t.b, p...); len(t.b) > most {
		t.b = t.b[len(t.b)-most:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// launch starts a program; env is added to this process's environment.
func launch(name string, env []string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(args[0], args[1:]...), out: new(tail), ended: make(chan struct{})} //nolint:gosec,noctx // programs that the caller names, stopped by stop
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// until waits for a condition and fails when the process ends before.
func (p *process) until(ctx context.Context, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.out)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, ctx.Err(), p.out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// listening waits until all addresses take connections.
func (p *process) listening(ctx context.Context, addrs ...string) error {
	return p.until(ctx, func() bool {
		for _, a := range addrs {
			c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", a)
			if err != nil {
				return false
			}
			_ = c.Close()
		}
		return true
	})
}

// stop ends it as Ctrl-C does, and by force when that takes more than a minute.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop within a minute\n%s", p.name, p.out)
	}
	if exit := new(exec.ExitError); p.err != nil && !errors.As(p.err, &exit) {
		return fmt.Errorf("%s: %w", p.name, p.err)
	}
	return nil
}

// freeAddr returns an address on loopback that nobody listens on.
func freeAddr() (string, error) {
	port, err := freeport.Pick()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

func freeAddrs(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		var err error
		if out[i], err = freeAddr(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// memoryOf returns the resident memory of a process in bytes; 0 when it is gone.
func memoryOf(pid int) int64 { return statusOf(pid, "VmRSS:") }

// ownMemoryOf is without pages of files, such as the queue's, which the system takes back when it needs them; in bytes.
func ownMemoryOf(pid int) int64 { return statusOf(pid, "RssAnon:") }

// statusOf returns a size that the system tells of a process, in bytes; 0 when it is gone.
func statusOf(pid int, key string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			kB, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kB << 10
		}
	}
	return 0
}

// children returns the processes that pid's threads started.
func children(pid int) []int {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, name := range threads {
		b, err := os.ReadFile(name) //nolint:gosec // of /proc
		if err != nil {
			continue // the thread has ended
		}
		for f := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

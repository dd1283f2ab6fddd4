package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// ErrLocked is returned by Start when another process has the data folder.
var ErrLocked = errors.New("the data folder is in use")

// lockDir takes the lock of a data folder. The lock belongs to the open file, which the child inherits: it is free
// only when the supervisor and its child are both gone, so that an orphan still writing keeps a new process out.
func lockDir(ctx context.Context, path string, timeout time.Duration, log *zap.Logger) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own data folder
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	deadline := time.Now().Add(timeout)
	told := timeout == 0 // the error follows at once
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if time.Now().After(deadline) {
			err := fmt.Errorf("%w: %s is held by %s; stop it or use another data folder", ErrLocked, path, holder(f))
			return nil, errors.Join(err, f.Close())
		}
		if !told {
			told = true
			log.Warn("data folder is in use; waiting for it", zap.String("holder", holder(f)), zap.Duration("lock_timeout", timeout))
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := writeHolder(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}

// holder says who has the lock, as far as the file and /proc tell.
func holder(f *os.File) string {
	var buf [32]byte
	n, _ := f.ReadAt(buf[:], 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return "another process"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("the engine left behind by process %d, which is ending", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name)))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

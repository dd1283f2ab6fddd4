package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/collector/cli/client"
)

// startupCheck is the check of /readyz that `up` answers itself.
const startupCheck = "startup"

// gate is the last check of /readyz: `up` opens it together with writing the ready files, so that whoever reads 200 finds
// them, and whoever finds them reads 200.
type gate struct {
	mu     sync.Mutex
	opened bool
}

func (g *gate) check() api.ReadyCheck {
	return api.ReadyCheck{Name: startupCheck, Check: func(context.Context) (string, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.opened {
			return "", errors.New("fermata up is starting or stopping; ask again")
		}
		return "done", nil
	}}
}

func (g *gate) open(files []string, r client.Ready) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range files {
		if err := writeReady(f, r); err != nil {
			return err
		}
	}
	g.opened = true
	return nil
}

// shut removes the files. It may be called when opening failed.
func (g *gate) shut(files []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = false
	for _, f := range files {
		_ = os.Remove(f)
	}
}

// clearReady removes a ready file that a killed process left behind. It reports true, and leaves the file, when the process
// it names lives: that is another `up`, or, after a restart of the machine, any program that got its number.
func clearReady(name string) (owned bool) {
	r, err := client.ReadReadyFile(name)
	if err != nil || r.PID <= 0 {
		return false // none, or not one of ours
	}
	if r.PID != os.Getpid() && !errors.Is(syscall.Kill(r.PID, 0), syscall.ESRCH) {
		return true
	}
	_ = os.Remove(name) // else it is written over in a moment
	return false
}

// writeReady writes the ready file in one piece, so that nobody reads half of it. Only the owner may read it: it
// holds the password of the read-only database user.
func writeReady(name string, r client.Ready) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".ready-*") // mode 0600
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if _, err := tmp.Write(append(b, '\n')); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("ready file: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

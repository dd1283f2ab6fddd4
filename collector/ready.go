package collector

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fermata-io/fermata/collector/cli/client"
)

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

// Package client finds a running `fermata up` and talks to its API and ingest endpoints.
package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ReadyFileName is the name of the ready file inside the data folder.
const ReadyFileName = "ready.json"

// Ready is the ready file that `fermata up` writes once every listener is bound: one address (host:port or URL) for each
// service, empty where the service is off, and the process id.
type Ready struct {
	API        string `json:"api"`
	Ingest     string `json:"ingest"`
	Tap        string `json:"tap"`
	OTLPGRPC   string `json:"otlp_grpc"`
	OTLPHTTP   string `json:"otlp_http"`
	ClickHouse string `json:"clickhouse"`
	PID        int    `json:"pid"`
}

// DefaultDataDir is where `fermata up` keeps its data when nothing else is said: $FERMATA_DATA, else
// $XDG_DATA_HOME/fermata, else ~/.local/share/fermata.
func DefaultDataDir() string {
	if d := os.Getenv("FERMATA_DATA"); d != "" {
		return d
	}
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" || !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return filepath.Join(os.TempDir(), "fermata")
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "fermata")
}

// ErrNotRunning says that no ready file was found where one was expected.
var ErrNotRunning = errors.New("no running `fermata up` found")

// ReadReady reads the ready file of the `fermata up` that uses dir.
func ReadReady(dir string) (Ready, error) { return ReadReadyFile(filepath.Join(dir, ReadyFileName)) }

// ReadReadyFile reads the ready file called name.
func ReadReadyFile(name string) (Ready, error) {
	raw, err := os.ReadFile(name) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return Ready{}, fmt.Errorf("%w: %s does not exist; start it with `fermata up`, or say where it is with --data DIR or --api URL", ErrNotRunning, name)
	}
	if err != nil {
		return Ready{}, fmt.Errorf("read ready file: %w", err)
	}
	var r Ready
	if err := json.Unmarshal(raw, &r); err != nil {
		return Ready{}, fmt.Errorf("read ready file %s: %w", name, err)
	}
	return r, nil
}

// BaseURL turns an address or URL into a base URL without a trailing slash.
func BaseURL(addr string) (string, error) {
	if addr == "" {
		return "", errors.New("address is empty")
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil {
		return "", fmt.Errorf("%q is not a URL: %w", addr, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("%q is not an http or https URL", addr)
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimRight(u.String(), "/"), nil
}

package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	_ "embed"
)

// Users of the engine.
const (
	UserFermata = "fermata" // may do everything
	UserReader  = "reader"  // may only read databases whose name starts with "fermata"
)

type credentials struct {
	Fermata string `json:"fermata"`
	Reader  string `json:"reader"`
}

//go:embed config.xml.tmpl
var configXML string

//go:embed users.xml.tmpl
var usersXML string

var templates = template.Must(template.Must(template.New("config.xml").Funcs(template.FuncMap{"xml": escapeXML}).
	Parse(configXML)).New("users.xml").Parse(usersXML))

// prepareDir makes the folders, the passwords and the engine's two configuration files.
func prepareDir(cfg *Config) (credentials, error) {
	for _, d := range []string{cfg.storeDir(), cfg.path("log"), cfg.path("tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil { //nolint:gosec // the user's own data folder
			return credentials{}, fmt.Errorf("make data folder: %w", err)
		}
	}
	creds, err := loadCredentials(cfg.path("credentials.json"))
	if err != nil {
		return creds, err
	}
	cores := runtime.GOMAXPROCS(0)
	data := map[string]any{
		"UsersPath":  cfg.path("users.xml"),
		"TmpPath":    cfg.path("tmp") + "/",
		"LogPath":    cfg.path("log", "clickhouse.log"),
		"LogSize":    cfg.LogMaxBytes,
		"MaxMemory":  cfg.MaxMemoryBytes,
		"MarkCache":  clamp(cfg.MaxMemoryBytes/16, 16<<20, 512<<20),
		"QueryBytes": cfg.MaxMemoryBytes / 4 * 3,
		"Background": min(max(cores, 2), 16),
		"Threads":    min(max(cores, 2), 32),
		"Fermata":    passwordHash(creds.Fermata),
		"Reader":     passwordHash(creds.Reader),
	}
	for _, name := range []string{"config.xml", "users.xml"} {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, name, data); err != nil {
			return creds, fmt.Errorf("render %s: %w", name, err)
		}
		if err := writeFile(cfg.path(name), []byte(b.String())); err != nil {
			return creds, fmt.Errorf("write %s: %w", name, err)
		}
	}
	return creds, nil
}

func (c *Config) storeDir() string { return c.path("store") }

func loadCredentials(path string) (credentials, error) {
	var c credentials
	b, err := os.ReadFile(path) //nolint:gosec // the user's own data folder
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c = credentials{Fermata: newPassword(), Reader: newPassword()}
		b, err = json.Marshal(c)
		if err != nil {
			return c, fmt.Errorf("make passwords: %w", err)
		}
		if err := writeFile(path, b); err != nil {
			return c, fmt.Errorf("keep passwords: %w", err)
		}
		return c, nil
	case err != nil:
		return c, fmt.Errorf("read passwords: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil || c.Fermata == "" || c.Reader == "" {
		return c, fmt.Errorf("read passwords: %s is damaged; delete it, new ones are made at the next start", path)
	}
	return c, nil
}

// writeFile replaces a file as a whole, readable by the owner alone and on disk when it returns.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() //nolint:gosec // its own name; gone already when all went well
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path) //nolint:gosec // within the user's own data folder
}

func newPassword() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func passwordHash(p string) string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:])
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escapeXML(s string) string { return xmlEscaper.Replace(s) }

func clamp(v, low, high int64) int64 { return min(max(v, low), high) }

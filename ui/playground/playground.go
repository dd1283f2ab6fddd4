package playground

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/fermata-io/fermata/internal/demo"
)

// Path is where the page stands.
const Path = "/playground/"

// policy lets the page load its own files and talk to its own origin, and nothing else; no script, style or markup from
// strings.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed assets
var embedded embed.FS

// Options of the page.
type Options struct {
	// Upstreams are the tap's, by name, in the order in which they are offered. "default" is the one at the tap's root.
	// The scripted model's faults are offered where "demo" is among them.
	Upstreams []string
	// Tap and Ingest return the addresses, as host:port, of the tap and of the listener with /v1/rum; empty while they
	// are not known. Both are required.
	Tap, Ingest func() string
	// Transport makes the requests to them. Default: http.DefaultTransport.
	Transport http.RoundTripper
}

// Handler serves everything below Path.
type Handler struct {
	http.Handler
	proxy *proxy
}

// Close waits until what is known of the last answers was sent.
func (h *Handler) Close() error {
	h.proxy.telling.Wait()
	return nil
}

// New returns the handler. It fails only on a fault of the build.
func New(opt Options) (*Handler, error) {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	setup, err := setupOf(opt.Upstreams)
	if err != nil {
		return nil, err
	}
	p := newProxy(&opt)
	mux := http.NewServeMux()
	mux.Handle("GET "+strings.TrimSuffix(Path, "/"), http.RedirectHandler(Path, http.StatusMovedPermanently))
	mux.Handle("GET "+Path+"{$}", asset(files, "index.html"))
	mux.HandleFunc("GET "+Path+"setup.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(setup)
	})
	mux.HandleFunc("GET "+Path+"{file}", func(w http.ResponseWriter, r *http.Request) { asset(files, r.PathValue("file")).ServeHTTP(w, r) })
	mux.HandleFunc("GET "+Path+"tap/{upstream}/v1/models", p.tap)
	mux.HandleFunc("POST "+Path+"tap/{upstream}/v1/chat/completions", p.tap)
	mux.HandleFunc("POST "+Path+"rum", p.rum)
	// Other pages that the user has open must neither spend the model's tokens nor write records.
	return &Handler{headers(http.NewCrossOriginProtection().Handler(mux)), p}, nil
}

// setupOf is what the page has to know about this process.
func setupOf(upstreams []string) ([]byte, error) {
	v := struct {
		Upstreams []string `json:"upstreams"`
		Demo      string   `json:"demo"`
		Faults    []string `json:"faults"`
	}{append([]string{}, upstreams...), demo.Name, demo.Faults()}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	return b, nil
}

func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// asset serves one embedded file.
func asset(files fs.FS, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		_, _ = w.Write(b) //nolint:gosec // a file of our own, named by the embedded list
	})
}

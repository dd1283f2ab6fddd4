package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/internal/freeport"
	"github.com/fermata-io/fermata/internal/resident"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/engine"
	"github.com/fermata-io/fermata/ui/playground"
)

// demoName is the path of the built-in model at the tap.
const demoName = "demo"

// database is where `fermata up` keeps its tables.
const database = "fermata"

// upOptions are the flags of `fermata up`.
type upOptions struct {
	data       string
	readyFile  string
	clickhouse string
	libchdb    string
	upstreams  []string
	listen     listenOptions
	verbose    bool
	logJSON    bool
	maxMemory  int64
}

type listenOptions struct {
	api, ingest, tap, otlpGRPC, otlpHTTP string
}

func newUpCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything on this machine: engine, collector, tap, API",
		Long: `Run everything on this machine: the embedded ClickHouse engine, the schema migrations, the collector with all
receivers, the tap and the API, as one process tree. Ctrl-C stops it cleanly.

Everything listens on loopback. Port 0 lets the system choose; the ready file tells what was chosen.

Above 640 MiB this process (the engine is another) spends more of the CPU on collecting garbage. Where it has to
hold more, for ten thousand open streams, set GOMEMLIMIT higher (GOMEMLIMIT=2GiB).`,
		Example: `  fermata up
  fermata up --upstream http://127.0.0.1:8000
  fermata up --upstream openai=https://api.openai.com --upstream local=http://127.0.0.1:11434
  fermata up --clickhouse 'clickhouse://user:password@db.example:9440/fermata?secure=true'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(memoryLimit)
			}
			return runUp(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", client.DefaultDataDir(), "folder for everything that is kept")
	f.StringVar(&o.readyFile, "ready-file", "", "file to write once ready: JSON with the addresses (always written to <data>/"+client.ReadyFileName+" too)")
	f.StringVar(&o.clickhouse, "clickhouse", "", "DSN of your own ClickHouse, instead of the embedded engine")
	f.StringVar(&o.libchdb, "libchdb", "", "path of libchdb.so (default: searched for, see make engine)")
	f.StringArrayVar(&o.upstreams, "upstream", nil, "LLM endpoint behind the tap: URL for the default one at /, NAME=URL for one at /NAME/; may be repeated")
	f.StringVar(&o.listen.api, "listen-api", "127.0.0.1:4380", "address of API and UI")
	f.StringVar(&o.listen.ingest, "listen-ingest", "127.0.0.1:4381", "address of /v1/chunks, /v1/gateway, /v1/rum, /collect")
	f.StringVar(&o.listen.tap, "listen-tap", "127.0.0.1:4382", "address of the tap")
	f.StringVar(&o.listen.otlpGRPC, "listen-otlp-grpc", "127.0.0.1:4317", "address of OTLP over gRPC")
	f.StringVar(&o.listen.otlpHTTP, "listen-otlp-http", "127.0.0.1:4318", "address of OTLP over HTTP")
	f.Int64Var(&o.maxMemory, "engine-memory", 0, "bytes of memory the embedded engine may take (default 2 GiB)")
	f.BoolVar(&o.verbose, "verbose", false, "log what the components do, not only what matters")
	f.BoolVar(&o.logJSON, "log-json", false, "log as JSON lines")
	return cli.Strict(cmd)
}

// check finds out before anything starts whether the addresses can be had.
func (l *listenOptions) check(ctx context.Context) error {
	var errs []error
	for _, a := range []struct{ flag, addr string }{
		{"api", l.api}, {"ingest", l.ingest}, {"tap", l.tap}, {"otlp-grpc", l.otlpGRPC}, {"otlp-http", l.otlpHTTP},
	} {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", a.addr)
		if err != nil {
			errs = append(errs, fmt.Errorf("--listen-%s %s: %w; give another address, or port 0 for any free one", a.flag, a.addr, cause(err)))
			continue
		}
		_ = ln.Close()
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("perhaps another fermata up is running"))
	}
	return errors.Join(errs...)
}

// cause is what the system said, without the address once more.
func cause(err error) error {
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}

// parseUpstreams turns the --upstream flags into the tap's map.
func parseUpstreams(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range flags {
		name, rawURL := tap.DefaultUpstream, f
		// A URL may hold '=', a name never ':' or '/'.
		if n, u, ok := strings.Cut(f, "="); ok && !strings.ContainsAny(n, ":/") {
			name, rawURL = n, u
			if name == "" {
				return nil, fmt.Errorf("--upstream %q: the name in front of '=' is empty; want URL or NAME=URL", f)
			}
		}
		if name == demoName {
			return nil, fmt.Errorf("--upstream %q: the name %q belongs to the built-in model; choose another", f, demoName)
		}
		if _, twice := out[name]; twice {
			if name == tap.DefaultUpstream {
				return nil, fmt.Errorf("--upstream %q: there is a default upstream already; give this one a name, as in NAME=URL", f)
			}
			return nil, fmt.Errorf("--upstream %q: the name %q is given twice", f, name)
		}
		if _, err := client.BaseURL(rawURL); err != nil || !strings.Contains(rawURL, "://") {
			return nil, fmt.Errorf("--upstream %q: %q is not an http or https URL", f, rawURL)
		}
		out[name] = rawURL
	}
	return out, nil
}

// memoryLimit is from where on Go's collector works harder than gcPercent says, in bytes of this process alone, unless GOMEMLIMIT says
// otherwise. Not a bound: what is needed is had.
const memoryLimit = 640 << 20

// startUpOver is how long after it is ready a program's pages are given back that only starting up has read.
const startUpOver = 5 * time.Second

func runUp(ctx context.Context, o upOptions, out, errOut io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	upstreams, err := parseUpstreams(o.upstreams)
	if err != nil {
		return cli.Usage(err)
	}
	data, err := filepath.Abs(o.data)
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	log := newLogger(errOut, o.verbose, o.logJSON)
	defer func() { _ = log.Sync() }()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }

	if err := o.listen.check(ctx); err != nil {
		return err
	}
	files := []string{filepath.Join(data, client.ReadyFileName)}
	if o.readyFile != "" {
		files = append(files, o.readyFile)
	}
	owned := false
	for _, f := range files {
		owned = clearReady(f) || owned
	}
	dsn, shownDSN, closeDB, err := openStore(ctx, o, data, owned, log, say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDB()) }()

	if err := migrate(ctx, dsn, say); err != nil {
		return err
	}

	demoURL, closeDemo, err := serveDemo(ctx)
	if err != nil {
		return err
	}
	defer closeDemo()
	upstreams[demoName] = demoURL
	metricsPort, err := freeport.Pick() // of the collector's own metrics, which are shown on the API's /metrics
	if err != nil {
		return err
	}
	values := map[string]any{
		"dsn":                  dsn,
		"queue_dir":            filepath.Join(data, "queue"),
		"dead_letter":          filepath.Join(data, "dead-letter.jsonl"),
		"listen_api":           o.listen.api,
		"listen_ingest":        o.listen.ingest,
		"listen_tap":           o.listen.tap,
		"listen_otlp_grpc":     o.listen.otlpGRPC,
		"listen_otlp_http":     o.listen.otlpHTTP,
		"upstreams":            upstreamConfig(upstreams),
		"playground_upstreams": playgroundUpstreams(upstreams),
		"log_level":            logLevel(o.verbose).String(),
		"log_encoding":         map[bool]string{true: "json", false: "console"}[o.logJSON],
		"metrics_host":         "127.0.0.1",
		"metrics_port":         metricsPort,
		"metrics_url":          fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort),
	}
	run, err := startCollector(ctx, upConfig, values)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.stop()) }()

	ready := readyFrom(run.addrs.all(), shownDSN)
	if err := waitReady(ctx, run, ready.API); err != nil {
		return err
	}
	defer run.gate.shut(files)
	if err := run.gate.open(files, ready); err != nil {
		return err
	}
	announce(out, ready, upstreams)
	defer time.AfterFunc(startUpOver, func() { _ = resident.GiveBack() }).Stop() // nothing depends on it

	select {
	case <-ctx.Done():
		say("stopping: what was accepted is kept")
		return nil
	case err := <-run.ended:
		run.ended <- err
		return fmt.Errorf("collector ended: %w", err)
	}
}

// openStore starts the embedded engine, or takes the user's own ClickHouse. shown is the data source name that
// the ready file may tell: the embedded engine's read-only user, or the user's own DSN without its password.
// An earlier process that is ending is waited for, one that is ready (owned) is not.
func openStore(ctx context.Context, o upOptions, data string, owned bool, log *zap.Logger, say func(string, ...any),
) (dsn, shown string, closeStore func() error, err error) {
	if o.clickhouse != "" {
		cfg := clickhouse.NewDefaultConfig()
		cfg.DSN = configopaque.String(o.clickhouse)
		if err := cfg.Validate(); err != nil {
			return "", "", nil, cli.Usage(fmt.Errorf("--clickhouse: %w", err))
		}
		return o.clickhouse, clickhouse.RedactDSN(o.clickhouse), func() error { return nil }, nil
	}
	say("engine: starting ClickHouse in %s", filepath.Join(data, "engine"))
	cfg := engine.NewDefaultConfig(filepath.Join(data, "engine"))
	cfg.Library = o.libchdb
	if owned {
		cfg.LockTimeout = 0
	}
	if o.maxMemory > 0 {
		cfg.MaxMemoryBytes = o.maxMemory
	}
	e, err := engine.Start(ctx, cfg, log.Named("engine"))
	if err != nil {
		return "", "", nil, err
	}
	return e.DSN(database), e.ReaderDSN(database), func() error {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return e.Stop(stopCtx)
	}, nil
}

// serveDemo runs the built-in model on a port of its own, so that the tap proxies it like any other upstream.
func serveDemo(ctx context.Context) (url string, closeDemo func(), err error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("built-in model: %w", err)
	}
	srv := &http.Server{Handler: demo.NewHandler(demo.NewDefaultConfig()), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }()
	return "http://" + ln.Addr().String(), func() { _ = srv.Close() }, nil
}

// waitReady asks the API until it says that all is well but the start-up's own gate, which is opened next.
func waitReady(ctx context.Context, run *running, api string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		last = probe(ctx, "http://"+api+"/readyz")
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", errors.Join(ctx.Err(), last))
		case err := <-run.ended:
			run.ended <- err
			return fmt.Errorf("collector ended before it was ready: %w", err)
		case <-tick.C:
		}
	}
}

func probe(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var h api.Health
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&h); err != nil {
		return fmt.Errorf("%s answers %d without checks: %w", url, resp.StatusCode, err)
	}
	var errs []error
	for _, c := range h.Checks {
		if !c.Ok && c.Name != startupCheck && c.Detail != nil {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, *c.Detail))
		}
	}
	return errors.Join(errs...)
}

func readyFrom(addrs map[string]string, dsn string) client.Ready {
	return client.Ready{
		API: addrs["api"], Ingest: addrs["ingest"], Tap: addrs["tap"],
		OTLPGRPC: addrs["otlp_grpc"], OTLPHTTP: addrs["otlp_http"], ClickHouse: dsn, PID: os.Getpid(),
	}
}

func announce(w io.Writer, r client.Ready, upstreams map[string]string) {
	_, _ = fmt.Fprintf(w, `
Fermata is ready.
  API        http://%s
  playground http://%s%s
  ingest     http://%s   /v1/chunks  /v1/gateway  /v1/rum  /collect
  tap        http://%s
  OTLP       %s (gRPC)   http://%s (HTTP)
`, r.API, r.API, playground.Path, r.Ingest, r.Tap, r.OTLPGRPC, r.OTLPHTTP)
	if u := upstreams[tap.DefaultUpstream]; u != "" {
		_, _ = fmt.Fprintf(w, "  upstream   http://%s/ → %s\n", r.Tap, u)
	}
	for name, u := range upstreams {
		if name != tap.DefaultUpstream && name != demoName {
			_, _ = fmt.Fprintf(w, "  upstream   http://%s/%s/ → %s\n", r.Tap, name, u)
		}
	}
	_, _ = fmt.Fprintf(w, `
Try it, from a second terminal:
  curl -N http://%s/%s/v1/chat/completions -H 'content-type: application/json' -H 'x-request-id: hello-1' \
    -d '{"model":"demo-stall","stream":true,"messages":[{"role":"user","content":"Tell me about pauses."}]}'
  %s request hello-1

Ctrl-C stops it.
`, r.Tap, demoName, os.Args[0])
}

// upstreamConfig is the tap's configuration of the upstreams.
func upstreamConfig(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for name, u := range m {
		out[name] = map[string]any{"url": u}
	}
	return out
}

func logLevel(verbose bool) zapcore.Level {
	if verbose {
		return zapcore.InfoLevel
	}
	return zapcore.WarnLevel
}

// newLogger makes the log of what runs outside the collector, in the form of the collector's own.
func newLogger(w io.Writer, verbose, asJSON bool) *zap.Logger {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	enc := zapcore.NewConsoleEncoder(cfg)
	if asJSON {
		enc = zapcore.NewJSONEncoder(cfg)
	}
	return zap.New(zapcore.NewCore(enc, zapcore.AddSync(w), logLevel(verbose)))
}

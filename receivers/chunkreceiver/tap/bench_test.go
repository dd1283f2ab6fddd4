package tap_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// The benchmarks compare three ways in one process and one run: direct to the model, through a bare
// httputil.ReverseProxy, through the tap. They take turns, so that what else the machine does hits all alike.

// stamped is a model that writes into each event when it was sent, by the process's monotonic clock.
type stamped struct {
	base   time.Time
	events int
	gap    time.Duration // mean distance of events; 0: as fast as possible
}

func (m *stamped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	ctl := http.NewResponseController(w)
	_ = ctl.Flush()
	event := []byte(`data: {"id":"chatcmpl-a26f88f57034153e","object":"chat.completion.chunk","created":1795967216,"model":"smollm2","choices":[{"index":0,"delta":{"content":" 0123456789abcdef"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	at := strings.Index(string(event), "0123456789abcdef")
	var stamp [8]byte
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for range m.events {
		if m.gap > 0 {
			t := time.NewTimer(time.Duration(float64(m.gap) * (0.5 + rng.Float64())))
			select {
			case <-t.C:
			case <-r.Context().Done():
				t.Stop()
				return
			}
		}
		binary.BigEndian.PutUint64(stamp[:], uint64(time.Since(m.base)))
		hex.Encode(event[at:], stamp[:])
		if _, err := w.Write(event); err != nil {
			return
		}
		_ = ctl.Flush()
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// ways are the URLs that the benchmarks ask.
func ways(b *testing.B, model http.Handler) (direct, bare, tapped string, t *tap.Tap) {
	up := httptest.NewServer(model)
	b.Cleanup(func() { up.CloseClientConnections(); up.Close() })
	target, err := url.Parse(up.URL)
	require.NoError(b, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(target)
			if pr.Out.Body != nil {
				pr.Out.Body = &stickyEnd{ReadCloser: pr.Out.Body}
			}
		},
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}
	front := httptest.NewServer(proxy)
	b.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	cfg := tap.NewDefaultConfig()
	cfg.Endpoint = "127.0.0.1:0"
	cfg.Upstreams = map[string]tap.Upstream{tap.DefaultUpstream: {URL: up.URL}}
	t, err = tap.New(*cfg, tap.Settings{}, func(_ context.Context, _ []wire.Stream) error { return nil })
	require.NoError(b, err)
	require.NoError(b, t.Start(context.Background()))
	b.Cleanup(func() { _ = t.Shutdown(context.Background()) })
	return up.URL, front.URL, "http://" + t.Addr().String(), t
}

// stickyEnd keeps the bare proxy from cutting an answer that begins at once, as the tap does for itself; its
// streams would be short and the comparison worthless.
type stickyEnd struct {
	io.ReadCloser
	eof bool
}

func (s *stickyEnd) Read(p []byte) (int, error) {
	if s.eof {
		return 0, io.EOF
	}
	n, err := s.ReadCloser.Read(p)
	s.eof = err != nil
	return n, err
}

func request(address string, n int) string {
	return "POST /v1/chat/completions HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\nX-Request-Id: r" + strconv.Itoa(n) +
		"\r\nContent-Length: 32\r\n\r\n" + `{"model":"smollm2","stream":true}`[:32]
}

// follow reads one stream with as little of its own as possible, and returns each event's age when it came.
func follow(base time.Time, address string, n int, ages []time.Duration) ([]time.Duration, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return ages, err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request(address, n)); err != nil {
		return ages, err
	}
	r := bufio.NewReaderSize(c, 2048)
	var stamp [8]byte
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return ages, err
		}
		now := time.Since(base)
		if strings.HasPrefix(string(line), "data: [DONE]") {
			return ages, nil
		}
		if i := strings.Index(string(line), `"content":" `); i > 0 {
			if _, err := hex.Decode(stamp[:], line[i+12:i+28]); err != nil {
				return ages, err
			}
			ages = append(ages, now-time.Duration(binary.BigEndian.Uint64(stamp[:])))
		}
	}
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

// BenchmarkTapDelay keeps many streams at the pace of an LLM open at once and reports how much later an event
// arrives through the tap, and through a bare reverse proxy, than directly. All three kinds run at the same time.
// FERMATA_BENCH_STREAMS sets how many streams go through the tap at once (default 2000); of the other kinds there
// are a tenth as many each.
func BenchmarkTapDelay(b *testing.B) {
	streams := 2000
	if v, err := strconv.Atoi(os.Getenv("FERMATA_BENCH_STREAMS")); err == nil {
		streams = v
	}
	base := time.Now()
	gap := 1000 * time.Millisecond
	if v, err := time.ParseDuration(os.Getenv("FERMATA_BENCH_GAP")); err == nil {
		gap = v
	}
	steady := int(4 * time.Second / gap) // events while streams are still being opened, which are left out
	direct, bare, tapped, _ := ways(b, &stamped{base: base, events: int(12 * time.Second / gap), gap: gap})
	for b.Loop() {
		kinds := []struct {
			url  string
			n    int
			ages []time.Duration
		}{{direct, max(1, streams/10), nil}, {bare, max(1, streams/10), nil}, {tapped, streams, nil}}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var failed atomic.Int64
		for k := range kinds {
			for i := range kinds[k].n {
				wg.Go(func() {
					time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Second)))) // not all at once
					ages, err := follow(base, strings.TrimPrefix(kinds[k].url, "http://"), i, nil)
					if err != nil {
						failed.Add(1)
					}
					mu.Lock()
					kinds[k].ages = append(kinds[k].ages, ages[min(len(ages), steady):]...)
					mu.Unlock()
				})
			}
		}
		wg.Wait()
		require.Zero(b, failed.Load())
		for _, q := range []float64{0.5, 0.99} {
			d, p, t := quantile(kinds[0].ages, q), quantile(kinds[1].ages, q), quantile(kinds[2].ages, q)
			us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
			name := fmt.Sprintf("p%.0f", q*100)
			b.ReportMetric(us(t-d), name+"-tap-added-µs")
			b.ReportMetric(us(p-d), name+"-proxy-added-µs")
			b.ReportMetric(us(t-p), name+"-tap-over-proxy-µs")
		}
	}
}

// BenchmarkTapThroughput pushes events as fast as they go through a bare reverse proxy and through the tap in
// turn, and reports the ratio of events per second, and of CPU time (which other work on the machine disturbs
// less; model and client are in it on both sides). Medians of the rounds.
func BenchmarkTapThroughput(b *testing.B) {
	for _, c := range []struct {
		name    string
		path    string
		model   http.Handler
		clients int
		each    int
	}{
		{"events", "/v1/chat/completions", &stamped{base: time.Now(), events: 2000}, 32, 1},
		{"short_answers", "/v1/chat/completions", &stamped{base: time.Now(), events: 1}, 16, 50},
		{"bulk", "/v1/files/x", bulk{}, 4, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, bare, tapped, _ := ways(b, c.model)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
			defer client.CloseIdleConnections()
			round := func(base string) (wall, cpu time.Duration) {
				began, used := time.Now(), cpuTime()
				var wg sync.WaitGroup
				for range c.clients {
					wg.Go(func() {
						for range c.each {
							res, err := client.Post(base+c.path, "application/json", strings.NewReader(`{"model":"m","stream":true}`))
							if err != nil {
								b.Error(err)
								return
							}
							if _, err := io.Copy(io.Discard, res.Body); err != nil {
								b.Error(err)
							}
							_ = res.Body.Close()
						}
					})
				}
				wg.Wait()
				return time.Since(began), cpuTime() - used
			}
			round(bare)
			round(tapped)
			var walls, cpus []float64
			for b.Loop() {
				for range 9 {
					pw, pc := round(bare)
					tw, tc := round(tapped)
					walls = append(walls, float64(pw)/float64(tw))
					cpus = append(cpus, float64(pc)/float64(tc))
				}
			}
			slices.Sort(walls)
			slices.Sort(cpus)
			b.ReportMetric(walls[len(walls)/2], "tap/proxy-throughput")
			b.ReportMetric(cpus[len(cpus)/2], "proxy/tap-cpu")
		})
	}
}

// BenchmarkTapCPU keeps streams open whose events come one by one, as an LLM sends them, and reports the CPU time
// of one event: the process's, less what model and client take without a proxy. Its inverse is how many events a
// core can pass.
func BenchmarkTapCPU(b *testing.B) {
	const streams = 200
	base := time.Now()
	direct, bare, tapped, _ := ways(b, &stamped{base: base, events: 200, gap: 20 * time.Millisecond})
	round := func(address string) float64 {
		used := cpuTime()
		var events atomic.Int64
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				ages, err := follow(base, strings.TrimPrefix(address, "http://"), i, nil)
				if err != nil {
					b.Error(err)
				}
				events.Add(int64(len(ages)))
			})
		}
		wg.Wait()
		return float64((cpuTime() - used).Microseconds()) / float64(events.Load())
	}
	var proxies, taps, ratios []float64
	for b.Loop() {
		for range 5 {
			d, p, t := round(direct), round(bare), round(tapped)
			proxies, taps, ratios = append(proxies, p-d), append(taps, t-d), append(ratios, (p-d)/(t-d))
		}
	}
	for name, v := range map[string][]float64{"proxy-cpu-µs/event": proxies, "tap-cpu-µs/event": taps, "tap/proxy-capacity": ratios} {
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], name)
	}
}

// cpuTime is what the process has used: model, proxy and client.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bulk is a large body that is no stream of events.
type bulk struct{}

func (bulk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(64<<20))
	block := make([]byte, 64<<10)
	for range 1024 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// BenchmarkTapMemory opens many streams through a bare reverse proxy and through the tap and reports the memory
// that each open stream takes in the process, its goroutines' stacks included. Model and clients are in the same
// process and cost the same in both; their share, measured without a proxy, is taken off.
func BenchmarkTapMemory(b *testing.B) {
	const streams = 500
	base := time.Now()
	direct, bare, tapped, _ := ways(b, &stamped{base: base, events: 1 << 30, gap: 200 * time.Millisecond})
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	idle := runtime.NumGoroutine()
	measure := func(address string) float64 {
		for runtime.NumGoroutine() > idle+20 { // the way measured before is still closing
			time.Sleep(10 * time.Millisecond)
		}
		before := used()
		var conns []net.Conn
		for i := range streams {
			c, err := net.Dial("tcp", address)
			require.NoError(b, err)
			_, err = io.WriteString(c, request(address, i))
			require.NoError(b, err)
			conns = append(conns, c)
		}
		buf := make([]byte, 4096)
		for range 10 {
			for _, c := range conns {
				_, err := c.Read(buf)
				require.NoError(b, err)
			}
		}
		after := used()
		for _, c := range conns {
			_ = c.Close()
		}
		return (float64(after) - float64(before)) / streams / 1024
	}
	for b.Loop() {
		d := measure(strings.TrimPrefix(direct, "http://"))
		p := measure(strings.TrimPrefix(bare, "http://"))
		t := measure(strings.TrimPrefix(tapped, "http://"))
		b.ReportMetric(t-d, "tap-KiB/stream")
		b.ReportMetric(p-d, "proxy-KiB/stream")
	}
}

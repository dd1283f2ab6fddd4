package rumreceiver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/internal/wire/schema"
)

// How many bodies are sent to each endpoint: a taste by default, 1000000 random and 10000 crafted ones when released.
//
//	FERMATA_RANDOM_BODIES=1000000 FERMATA_CRAFTED_BODIES=10000 go test ./receivers/rumreceiver -run TestStorm -timeout 60m -v
func bodies(t *testing.T, name string, def int) int {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	require.NoError(t, err, name)
	return n
}

// target is an endpoint under attack and what its bodies look like.
type target struct {
	path  string
	ok    int
	seeds []string
	// wrap puts a stream's JSON into a body; of Faro's the fields are attributes.
	wrap func(stream string) string
}

func targets(t *testing.T) []target {
	faro, err := os.ReadFile("../adapters/faro/testdata/in/2.12.1-event.json")
	require.NoError(t, err)
	other, err := os.ReadFile("../adapters/faro/testdata/in/2.12.1-traces.json")
	require.NoError(t, err)
	full, err := os.ReadFile("testdata/in/beacon.json")
	require.NoError(t, err)
	return []target{
		{
			DefaultPath, 200,
			[]string{beacon, string(full), `{"session_id":"s","recv":{"t":[1,2],"kind_runs":[["role",1],["content",1]]}}`},
			func(s string) string { return s },
		},
		{
			DefaultFaroPath, 202,
			[]string{string(faro), string(other), `{"events":[{"name":"fermata.stream","attributes":{"recv":"{\"t\":[1]}"}}]}`},
			func(s string) string {
				return `{"meta":{"session":{"id":"s"}},"events":[{"name":"fermata.stream","attributes":` + s + `}]}`
			},
		},
	}
}

// storm sends bodies and holds the answers against what reached the pipeline.
type storm struct {
	t      *testing.T
	url    string
	target target
	client *http.Client
	stored *atomic.Int64
	taken  atomic.Int64
	status [600]atomic.Int64
}

func newStorm(t *testing.T, to target) *storm {
	s := &storm{t: t, target: to, stored: new(atomic.Int64), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	next, err := consumer.NewLogs(func(_ context.Context, l plog.Logs) error {
		s.stored.Add(int64(l.LogRecordCount()))
		return nil
	})
	require.NoError(t, err)
	cfg := hardened()
	cfg.RememberBeacons = 0 // so that what is answered can be counted
	s.url = ingesttest.Start(t, NewFactory(), cfg, next) + to.path
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// send posts a body and returns the answer; every answer must be one that the README names.
func (s *storm) send(body io.Reader, contentType, encoding string) (int, ingest.Answer, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"?key=shop-7f31c0", body)
	if err != nil {
		return 0, ingest.Answer{}, err
	}
	req.Header.Set("Origin", "https://shop.example")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, ingest.Answer{}, err // a panic of the handler shows here, as EOF
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ingest.Answer{}, err
	}
	s.status[resp.StatusCode].Add(1)
	var a ingest.Answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return 0, a, fmt.Errorf("status %d with %q: %w", resp.StatusCode, raw, err)
	}
	switch {
	case resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("X-Content-Type-Options") != "nosniff":
		return 0, a, fmt.Errorf("status %d with headers %v", resp.StatusCode, resp.Header)
	case len(raw) > 64<<10:
		return 0, a, fmt.Errorf("status %d with %d bytes", resp.StatusCode, len(raw))
	case resp.StatusCode == s.target.ok && a.Rejected == 0 && len(a.Errors) == 0:
	case resp.StatusCode == http.StatusBadRequest && len(a.Errors) > 0:
	case (resp.StatusCode == http.StatusRequestEntityTooLarge || resp.StatusCode == http.StatusUnsupportedMediaType) && a.Accepted == 0 && len(a.Errors) == 1:
	default:
		return 0, a, fmt.Errorf("status %d with %s", resp.StatusCode, raw)
	}
	s.taken.Add(int64(a.Accepted))
	return resp.StatusCode, a, nil
}

// flood sends n bodies from several clients and checks that memory stays flat: after the first tenth nothing grows.
func (s *storm) flood(n int, draw func(r *rand.Rand, i int) (body []byte, contentType, encoding string), check func(i, status int, a ingest.Answer) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Value
	run := func(until int64) {
		for range 4 {
			wg.Go(func() {
				for failed.Load() == nil {
					i := next.Add(1) - 1
					if i >= until {
						next.Add(-1)
						return
					}
					body, contentType, encoding := draw(rand.New(rand.NewPCG(7, uint64(i))), int(i))
					status, a, err := s.send(bytes.NewReader(body), contentType, encoding)
					if err == nil && check != nil {
						err = check(int(i), status, a)
					}
					if err != nil {
						failed.CompareAndSwap(nil, fmt.Errorf("body %d, %q as %q %q: %w", i, body[:min(len(body), 500)], contentType, encoding, err))
					}
				}
			})
		}
		wg.Wait()
	}
	run(int64(max(n/10, 1)))
	before := heap()
	run(int64(n))
	require.Nil(s.t, failed.Load())
	require.Less(s.t, heap(), before+16<<20, "memory grows with what is sent")
	require.Equal(s.t, s.taken.Load(), s.stored.Load(), "what is answered as taken is in the pipeline, and nothing else")
	var seen []string
	for status := range s.status {
		if c := s.status[status].Load(); c > 0 {
			seen = append(seen, fmt.Sprintf("%d: %d", status, c))
		}
	}
	s.t.Logf("%s: %d bodies, %s; %d streams taken; heap %d kB", s.target.path, n, strings.Join(seen, ", "), s.taken.Load(), heap()>>10)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestStormOfRandomBodies sends noise, random JSON, and valid bodies that were cut, spliced and changed.
func TestStormOfRandomBodies(t *testing.T) {
	n := bodies(t, "FERMATA_RANDOM_BODIES", 2000)
	for _, to := range targets(t) {
		t.Run(to.path[1:], func(t *testing.T) {
			newStorm(t, to).flood(n, func(r *rand.Rand, _ int) ([]byte, string, string) {
				body := to.random(r)
				contentType := pick(r, "text/plain;charset=UTF-8", "application/json", "text/plain", "application/x-ndjson", "", "text/plain;charset=UTF-8", "", "text/html", "a/b;c")
				encoding := ""
				switch r.IntN(30) {
				case 0:
					encoding, body = "gzip", ingesttest.Compress(t, "gzip", body)
				case 1:
					body = ingesttest.Compress(t, "gzip", body)
				case 2:
					encoding = pick(r, "gzip", "deflate", "zstd", "br", "identity", "gzip, gzip")
				}
				return body, contentType, encoding
			}, nil)
		})
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// random makes a body.
func (to *target) random(r *rand.Rand) []byte {
	switch r.IntN(5) {
	case 0:
		b := make([]byte, r.IntN(300))
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		return b
	case 1:
		return []byte(value(r, 5))
	case 2:
		return []byte(to.wrap(object(r, 3)))
	}
	b := []byte(pick(r, to.seeds...))
	for range 1 + r.IntN(8) {
		if len(b) == 0 {
			break
		}
		at := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b[at] ^= byte(1 << r.UintN(8))
		case 1:
			b[at] = pick(r, []byte(`{}[]",:0-9eE.\ntfu`)...)
		case 2:
			b = slices.Insert(b, at, []byte(value(r, 2))...)
		case 3:
			end := min(len(b), at+1+r.IntN(20))
			b = slices.Delete(b, at, end)
		case 4:
			end := min(len(b), at+1+r.IntN(60))
			b = slices.Insert(b, r.IntN(len(b)), slices.Clone(b[at:end])...)
		case 5:
			b = b[:at]
		}
	}
	return b
}

// fieldNames are all fields of a stream, and some that none has.
var fieldNames = func() []string {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schema.RUM(), &doc); err != nil {
		panic(err)
	}
	names := []string{"", "__proto__", "constructor", "unknown", "a\\u0000b", strings.Repeat("n", 5000)}
	for name := range doc.Defs["envelope"].Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

func object(r *rand.Rand, depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range r.IntN(8) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":%s`, pick(r, fieldNames...), value(r, depth-1))
	}
	return b.String() + "}"
}

// value makes random JSON.
func value(r *rand.Rand, depth int) string {
	if n := r.IntN(8); depth > 0 && n < 3 {
		if n == 0 {
			return object(r, depth)
		}
		var list []string
		for range r.IntN(6) {
			list = append(list, value(r, depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return pick(r, hostileValues...)
}

// hostileValues is what attackers put into fields: script for the pages and terminals that show it, names of files and tables,
// numbers at the edges of types, and forms that are not what is expected.
var hostileValues = func() []string {
	texts := []string{
		"", "a", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "javascript:alert(1)", "{{constructor.constructor('alert(1)')()}}", "${7*7}", "<%= 7*7 %>",
		"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x1b]52;c;aGk=\x07", "\u009b31m", "\u202egnp.exe", "a\r\nX-Injected: 1", "a\x00b", "\x08\x08\x08", "'; DROP TABLE clients; --",
		"' OR 1=1 --", "{name:String}", "../../../../etc/passwd", "file:///etc/passwd", "=cmd|' /C calc'!A0", "%s%s%n", "%00", "\ufeff", "\u2028", "😀", strings.Repeat("A", 1024), strings.Repeat("é", 5000),
		"null", "hidden", "content", "1760000000000000", "https://u:p@h.example/x?y#z", "http://[::1", "r-1", "0af7651916cd43dd8448eb211c80319c",
	}
	out := []string{
		"null", "true", "false", "0", "-0", "1", "-1", "0.1", "1e-9", "1e400", "-1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1760000000000000", "1760000000000",
		"1760000000000000000", "4294967295", "4294967296", strings.Repeat("9", 400), "[]", "{}", "[[]]", "[null]", "[{}]", "[1,2,3]", "[3,2,1]", "[-1]", `["a"]`, "[1e99]", `{"t":[1,2],"bytes":[1,2]}`,
		`{"dt":[1,9223372036854775807]}`, `{"dt":[9223372036854775807,9223372036854775807]}`, `{"t":[1],"bytes":[4294967295]}`, `{"t":[0,4294967296]}`, `{"t":[1],"kind":["x"]}`, `{"t":[1],"kind_runs":[["content",1]]}`,
		`{"kind_runs":[["content",50000]]}`, `{"kind_runs":[["content",9223372036854775807]]}`, `[[1,"hidden"]]`, `[[1,2]]`, `[[9223372036854775807,9223372036854775807]]`, `{"time_origin":9007199254740992}`, `{"downlink":1e308}`,
		`{"rtt":-1}`, `{"type":"<script>"}`, strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 5_000), "[" + strings.Repeat("1,", 60_000) + "1]", `"\ud800"`, `"\u12"`, "\"\xff\"", "nope", "NaN",
	}
	for _, s := range texts {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	return out
}()

// TestStormOfCraftedBodies gives every field every hostile value, alone and between two good streams: the good ones are taken,
// and the value is taken or refused as the wire format says.
func TestStormOfCraftedBodies(t *testing.T) {
	n := bodies(t, "FERMATA_CRAFTED_BODIES", 1000)
	all := len(fieldNames) * len(hostileValues)
	for _, to := range targets(t) {
		t.Run(to.path[1:], func(t *testing.T) {
			s := newStorm(t, to)
			draw := func(_ *rand.Rand, i int) ([]byte, string, string) {
				at := i % all
				if n < all { // a taste is spread over all fields and values
					at = int(uint64(i) * 2654435761 % uint64(all))
				}
				name, v := fieldNames[at%len(fieldNames)], hostileValues[at/len(fieldNames)]
				item := fmt.Sprintf(`{"session_id":"s","%s":%s}`, name, v)
				if name == "session_id" {
					item = fmt.Sprintf(`{"session_id":%s}`, v)
				}
				if to.path == DefaultFaroPath && i%2 == 1 { // as Faro's attributes are
					text, _ := json.Marshal(v)
					item = fmt.Sprintf(`{"%s":%s}`, name, text)
				}
				if to.path == DefaultPath && i%2 == 1 {
					return []byte(`[{"session_id":"l"},` + item + `,{"session_id":"r"}]`), "text/plain", ""
				}
				return []byte(to.wrap(item)), "application/json", ""
			}
			opt := wire.NewDefaultDecodeOptions()
			opt.Limits.MaxChunks, opt.MaxItems, opt.Now = 50_000, 1000, time.Now()
			s.flood(n, draw, func(i, status int, a ingest.Answer) error {
				if to.path != DefaultPath {
					return nil
				}
				body, _, _ := draw(nil, i)
				items, errs := wire.DecodeClients(body, opt)
				if len(items) != a.Accepted || len(errs) != a.Rejected || (status == to.ok) != (len(errs) == 0) {
					return fmt.Errorf("%d taken and %d refused, want %d and %d", a.Accepted, a.Rejected, len(items), len(errs))
				}
				if i%2 == 1 && a.Accepted == 0 {
					return fmt.Errorf("a bad stream cost a good one")
				}
				return nil
			})
		})
	}
}

// zeros is an endless body.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n)
	for i := range p[:n] {
		p[i] = ' '
	}
	z.n -= n
	return int(n), nil
}

// TestStormOfGiants sends 50 MB at a time, with and without saying so, and bodies that grow when they are unpacked.
func TestStormOfGiants(t *testing.T) {
	const giant = 50 << 20
	bombs := map[string][]byte{}
	for _, e := range []string{"gzip", "deflate", "zstd"} {
		bombs[e] = ingesttest.Compress(t, e, make([]byte, giant))
	}
	for _, to := range targets(t) {
		t.Run(to.path[1:], func(t *testing.T) {
			s := newStorm(t, to)
			before := heap()
			big := func(name string, body io.Reader, encoding string) {
				t.Helper()
				status, _, err := s.send(body, "text/plain", encoding)
				if err != nil { // the server hangs up on those who go on sending
					require.True(t, strings.Contains(err.Error(), "broken pipe") || strings.Contains(err.Error(), "connection reset"), "%s: %v", name, err)
					return
				}
				require.Equal(t, http.StatusRequestEntityTooLarge, status, name)
			}
			for range 3 {
				big("announced", bytes.NewReader(make([]byte, giant)), "")
				big("of unknown length", &zeros{giant}, "")
				for e, b := range bombs {
					big("bomb "+e, bytes.NewReader(b), e)
				}
				big("bomb that says nothing", bytes.NewReader(bombs["gzip"]), "")
			}
			require.Less(t, heap(), before+32<<20)
			status, a, err := s.send(strings.NewReader(to.seeds[0]), "text/plain", "")
			require.NoError(t, err)
			require.Equal(t, to.ok, status, "it still serves: %v", a)
		})
	}
}

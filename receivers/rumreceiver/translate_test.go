package rumreceiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/internal/wire/schema"
)

// newDecoder is the decoder of the default configuration, without telemetry.
func newDecoder(t testing.TB) *decoder {
	tel, err := newTelemetry(receivertest.NewNopSettings(Type))
	require.NoError(t, err)
	d := &decoder{userAgent: true, tel: tel}
	d.duplicates, err = newDuplicates(1000)
	require.NoError(t, err)
	return d
}

// as has a DecodeFunc see a request as the guard hands it on.
func as(t testing.TB, s *sender, decode ingest.DecodeFunc) ingest.DecodeFunc {
	g, err := newAgents(BotsConfig{Drop: true})
	require.NoError(t, err)
	return func(r *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
		from := *s
		from.agent = g.read(r.UserAgent())
		decode(r.WithContext(context.WithValue(context.Background(), senderKey{}, &from)), body, opt, b)
	}
}

func TestGolden(t *testing.T) {
	header := http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"}}
	ingesttest.Golden(t, as(t, &sender{key: &writeKey{}}, newDecoder(t).decode), header, schema.RUM())
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(beacon), "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0")
	f.Add([]byte(`{"session_id":"s","recv":{"t":[1.5,2]}}`), "curl/8")
	decode := as(f, &sender{key: &writeKey{}}, newDecoder(f).decode)
	f.Fuzz(func(t *testing.T, body []byte, agent string) {
		opt := wire.NewDefaultDecodeOptions()
		opt.Now = ingesttest.Now
		b := ingest.NewBatch(ingesttest.Now, false)
		decode(&http.Request{Header: http.Header{"User-Agent": {agent}}}, body, opt, b)
		require.Equal(t, b.Answer().Accepted, b.Logs().LogRecordCount())
		for _, rl := range b.Logs().ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				c, err := streamlog.Client(lr, opt.Limits.MaxChunks)
				require.NoError(t, err)
				require.NoError(t, c.Validate(ingesttest.Now, opt.Limits))
			}
		}
	})
}

func BenchmarkBeacon(b *testing.B) {
	opt := wire.NewDefaultDecodeOptions()
	opt.Now = ingesttest.Now
	r := &http.Request{Header: http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"}}}
	body := []byte(beacon)
	decode := as(b, &sender{key: &writeKey{}}, newDecoder(b).decode)
	b.ReportAllocs()
	for b.Loop() {
		decode(r, body, opt, ingest.NewBatch(ingesttest.Now, false))
	}
}

// BenchmarkHandler takes a whole request as the server hands it over: guard, body, decoding, answer.
func BenchmarkHandler(b *testing.B) {
	for name, change := range map[string]func(*Config){
		"open": func(*Config) {},
		"hardened": func(c *Config) {
			h := hardened()
			c.Keys, c.TrustedProxies = h.Keys, h.TrustedProxies
			c.RateLimit.PerIP, c.RateLimit.PerKey = Rate{PerSecond: 1e9}, Rate{PerSecond: 1e9}
		},
	} {
		b.Run(name, func(b *testing.B) {
			cfg := NewDefaultConfig()
			change(cfg)
			h, _, err := newRoutes(receivertest.NewNopSettings(Type), cfg, consumertest.NewNop())
			require.NoError(b, err)
			header := http.Header{
				"Content-Type": {"text/plain;charset=UTF-8"}, "Origin": {"https://www.shop.example"}, "X-Forwarded-For": {"198.51.100.1"},
				"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"},
			}
			u := &url.URL{Path: DefaultPath, RawQuery: "key=shop-7f31c0"}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				body := fmt.Appendf(nil, `{"session_id":"s","seq":%d,%s`, n, beacon[len(`{"session_id":"s","seq":4,`):])
				w := httptest.NewRecorder()
				h[DefaultPath].ServeHTTP(w, &http.Request{
					Method: http.MethodPost, URL: u, Header: header, RemoteAddr: "127.0.0.1:4711", Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				})
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

// BenchmarkHTTP posts beacons over loopback; client and server share the cores.
func BenchmarkHTTP(b *testing.B) {
	url := ingesttest.Start(b, NewFactory(), serving(), consumertest.NewNop()) + "/v1/rum"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(url, "text/plain", strings.NewReader(beacon))
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

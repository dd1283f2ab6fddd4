package rumreceiver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

// hardened is a configuration as the public gets it.
func hardened() *Config {
	cfg := serving()
	cfg.Keys = []KeyConfig{
		{Key: "shop-7f31c0", Tenant: "acme", App: "shop", AllowedOrigins: []string{"https://shop.example", "https://*.shop.example"}},
		{Key: "docs-92ab44"},
	}
	cfg.AllowedOrigins = []string{"https://docs.example"}
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	return cfg
}

// served is a running receiver with its counters.
type served struct {
	t    *testing.T
	url  string
	sink *consumertest.LogsSink
	tel  *componenttest.Telemetry
	logs *observer.ObservedLogs
	n    int
}

func serve(t *testing.T, cfg *Config, next consumer.Logs) *served {
	t.Helper()
	s := &served{t: t, sink: new(consumertest.LogsSink), tel: componenttest.NewTelemetry()}
	if next == nil {
		next = s.sink
	}
	set := receivertest.NewNopSettings(Type)
	set.TelemetrySettings = s.tel.NewTelemetrySettings()
	core, logs := observer.New(zap.InfoLevel)
	set.Logger, s.logs = zap.New(core), logs
	r, err := NewFactory().CreateLogs(context.Background(), set, cfg, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), ingesttest.Host{}))
	t.Cleanup(func() {
		require.NoError(t, r.Shutdown(context.Background()))
		require.NoError(t, s.tel.Shutdown(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	s.url = "http://" + r.(interface{ Addr() net.Addr }).Addr().String()
	return s
}

// counted sums a counter over the points with that attribute value; "": all.
func (s *served) counted(name, value string) (n int64) {
	m, err := s.tel.GetMetric(name)
	if err != nil {
		return 0
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		for _, kv := range p.Attributes.ToSlice() {
			if value == "" || kv.Value.AsString() == value {
				n += p.Value
				break
			}
		}
	}
	return n
}

// post sends a beacon that was not sent before.
func (s *served) post(query string, header ...string) ingesttest.Response {
	s.t.Helper()
	s.n++
	r := ingesttest.Request{ContentType: "text/plain;charset=UTF-8", Header: map[string]string{}, Body: fmt.Appendf(nil, `{"session_id":"s","seq":%d,"tenant":"forged","app":"forged","streams":[{"request_id":"r"}]}`, s.n)}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = header[i+1]
	}
	path := "/v1/rum"
	if strings.HasPrefix(query, "/") {
		path = ""
	}
	return ingesttest.Do(s.t, s.url+path+query, r)
}

func TestKeysAndOrigins(t *testing.T) {
	s := serve(t, hardened(), nil)
	const shop, docs, evil = "https://shop.example", "https://docs.example", "https://evil.example"
	f := func(name, query, origin, key string, status int, field, counter string) {
		t.Helper()
		before := s.counted("fermata_rum_refused", counter)
		header := []string{}
		if origin != "" {
			header = append(header, "Origin", origin)
		}
		if key != "" {
			header = append(header, "X-API-Key", key)
		}
		for _, path := range []string{"/v1/rum", "/collect"} {
			got := s.post(path+query, header...)
			want := status
			if path == "/collect" && status == 200 {
				want = 202
			}
			require.Equal(t, want, got.Status, name)
			require.Contains(t, got.Header.Values("Vary"), "Origin", name)
			require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"), name)
			allow := got.Header.Get("Access-Control-Allow-Origin")
			if origin == "" || origin == evil {
				require.Empty(t, allow, name)
			} else {
				require.Equal(t, origin, allow, "%s: the page may read why", name)
			}
			require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"), name)
			if status != 200 {
				require.Equal(t, field, got.Answer.Errors[0].Field, name)
				require.NotContains(t, got.Raw, "shop-7f31c0", name)
				require.Empty(t, clients(t, s.sink), name)
			}
		}
		if counter != "" {
			require.EqualValues(t, 2, s.counted("fermata_rum_refused", counter)-before, name)
		}
	}
	f("no key", "", shop, "", 401, "key", "key_missing")
	f("empty key", "?key=", shop, "", 401, "key", "key_missing")
	f("forged key", "?key=shop-7f31c1", shop, "", 401, "key", "key_unknown")
	f("forged header", "", shop, "shop-7f31c", 401, "key", "key_unknown")
	f("key of another name", "?xkey=shop-7f31c0", shop, "", 401, "key", "key_missing")
	f("long key", "?key="+strings.Repeat("k", 10_000), shop, "", 401, "key", "key_unknown")
	f("forged origin", "?key=shop-7f31c0", evil, "", 403, "Origin", "origin")
	f("no origin", "?key=shop-7f31c0", "", "", 403, "Origin", "origin")
	f("origin of another app", "?key=shop-7f31c0", docs, "", 403, "Origin", "origin")
	f("another key's origin", "?key=docs-92ab44", shop, "", 403, "Origin", "origin")

	f("key in the query", "?v=1&key=shop-7f31c0", shop, "", 200, "", "")
	got := clients(t, s.sink)
	require.Len(t, got, 1)
	require.Equal(t, []string{"acme", "shop"}, []string{got[0].Tenant, got[0].App}, "the key says whose it is, not the beacon")
	f("subdomain", "?key=shop-7f31c0", "https://www.shop.example", "", 200, "", "")
	f("key in the header", "", docs, "docs-92ab44", 200, "", "")
	got = clients(t, s.sink)
	require.Equal(t, []string{"default", "forged"}, []string{got[1].Tenant, got[1].App}, "an app of its own, no tenant")
}

func TestPreflight(t *testing.T) {
	ask := func(s *served, origin string) ingesttest.Response {
		return ingesttest.Do(t, s.url+"/collect", ingesttest.Request{Method: http.MethodOptions, ContentType: "-", Header: map[string]string{
			"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-encoding,content-type,idempotency-key,x-api-key,x-faro-session-id",
		}})
	}
	s := serve(t, hardened(), nil)
	for _, origin := range []string{"https://shop.example", "https://a.shop.example", "https://docs.example"} {
		got := ask(s, origin)
		require.Equal(t, 204, got.Status)
		require.Equal(t, origin, got.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "POST", got.Header.Get("Access-Control-Allow-Methods"))
		for _, h := range []string{"content-encoding", "content-type", "idempotency-key", "x-api-key", "x-faro-session-id"} {
			require.Contains(t, strings.ToLower(got.Header.Get("Access-Control-Allow-Headers")), h)
		}
		require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
		require.Contains(t, got.Header.Values("Vary"), "Origin")
	}
	got := ask(s, "https://evil.example")
	require.Equal(t, 403, got.Status)
	require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"))
	require.EqualValues(t, 1, s.counted("fermata_rum_refused", "origin"))

	// Without a configuration every page may send: a newcomer's is on another port.
	open := serve(t, serving(), nil)
	got = ask(open, "http://localhost:5173")
	require.Equal(t, 204, got.Status)
	require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	got = open.post("", "Origin", "http://localhost:5173")
	require.Equal(t, 200, got.Status)
	require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Retry-After", got.Header.Get("Access-Control-Expose-Headers"))
	require.Equal(t, 200, open.post("").Status)
	got = ingesttest.Do(t, open.url+"/v1/rum", ingesttest.Request{Method: http.MethodOptions})
	require.Equal(t, 405, got.Status, "OPTIONS that is no preflight")
}

// TestTenTimesTheRate sends ten times as much as is allowed: from one address, then with one key from many.
func TestTenTimesTheRate(t *testing.T) {
	cfg := hardened()
	cfg.RateLimit.PerIP = Rate{PerSecond: 0.001, Burst: 20}
	cfg.Keys[0].RateLimit = Rate{PerSecond: 0.001, Burst: 50}
	s := serve(t, cfg, nil)
	flood := func(n int, address func(i int) string, wantOK int, field string) {
		t.Helper()
		ok := 0
		for i := range n {
			got := s.post("?key=shop-7f31c0", "Origin", "https://shop.example", "X-Forwarded-For", address(i))
			if got.Status == 200 {
				ok++
				continue
			}
			require.Equal(t, 429, got.Status)
			require.Equal(t, field, got.Answer.Errors[0].Field)
			require.NotEmpty(t, got.Header.Get("Retry-After"))
			require.NotEqual(t, "0", got.Header.Get("Retry-After"))
			require.Equal(t, "https://shop.example", got.Header.Get("Access-Control-Allow-Origin"))
		}
		require.Equal(t, wantOK, ok)
		require.Len(t, clients(t, s.sink), wantOK)
	}
	flood(200, func(int) string { return "198.51.100.1" }, 20, "(address)")
	require.EqualValues(t, 180, s.counted("fermata_rum_refused", "rate_ip"))
	flood(500, func(i int) string { return fmt.Sprintf("198.51.%d.%d", 101+i/250, i%250) }, 30, "key")
	require.EqualValues(t, 470, s.counted("fermata_rum_refused", "rate_key"))
	require.Equal(t, 200, s.post("?key=docs-92ab44", "Origin", "https://docs.example", "X-Forwarded-For", "203.0.113.1").Status, "other apps are not affected")
	clients(t, s.sink)
	// Forged keys and origins cost the app nothing of its rate, and the forger all of its own.
	for i := range 100 {
		want := 403
		if i >= 20 {
			want = 429
		}
		require.Equal(t, want, s.post("?key=docs-92ab44", "Origin", "https://evil.example", "X-Forwarded-For", "203.0.113.2").Status)
	}
	// Who invents addresses in front of a proxy that nobody trusts gets one bucket.
	cfg = hardened()
	cfg.TrustedProxies = nil
	cfg.RateLimit.PerIP = Rate{PerSecond: 0.001, Burst: 5}
	s = serve(t, cfg, nil)
	flood(50, func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }, 5, "(address)")
}

func TestBots(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
	const headless = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36"
	bots := []string{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
		"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
		"Mozilla/5.0 (Linux; Android 11; moto g power) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse",
		"Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)",
	}
	people := []string{
		chrome, headless, "curl/8.5.0", "node", "",
		"Mozilla/5.0 (Linux; Android 9; CUBOT P40) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1",
		strings.Repeat("Googlebot/2.1 ", 100), // longer than any browser's or crawler's
	}
	s := serve(t, serving(), nil)
	for _, ua := range bots {
		got := s.post("", "User-Agent", ua)
		require.Equal(t, 204, got.Status, ua)
		require.Empty(t, got.Raw)
	}
	require.Empty(t, clients(t, s.sink))
	require.EqualValues(t, len(bots), s.counted("fermata_rum_refused", "bot"))
	for _, ua := range people {
		require.Equal(t, 200, s.post("", "User-Agent", ua).Status, ua)
	}
	require.Len(t, clients(t, s.sink), len(people))

	cfg := serving()
	cfg.Bots.UserAgents = []string{"headlesschrome", "CURL/"}
	s = serve(t, cfg, nil)
	require.Equal(t, 204, s.post("", "User-Agent", headless).Status)
	require.Equal(t, 204, s.post("", "User-Agent", "curl/8.5.0").Status)
	require.Equal(t, 200, s.post("", "User-Agent", chrome).Status)

	cfg = serving()
	cfg.Bots.Drop = false
	s = serve(t, cfg, nil)
	require.Equal(t, 200, s.post("", "User-Agent", bots[0]).Status)
	require.Equal(t, "bot", clients(t, s.sink)[0].Device)
}

func TestDuplicates(t *testing.T) {
	var fails error
	sink := new(consumertest.LogsSink)
	next, err := consumer.NewLogs(func(ctx context.Context, l plog.Logs) error {
		if fails != nil {
			return fails
		}
		return sink.ConsumeLogs(ctx, l)
	})
	require.NoError(t, err)
	s := serve(t, serving(), next)
	post := func(path, body string, status, accepted, stored int, header ...string) {
		t.Helper()
		r := ingesttest.Request{Body: []byte(body), Header: map[string]string{}}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header[header[i]] = header[i+1]
		}
		got := ingesttest.Do(t, s.url+path, r)
		require.Equal(t, status, got.Status, got.Raw)
		require.Equal(t, accepted, got.Answer.Accepted)
		require.Len(t, clients(t, sink), stored)
	}
	beacon := func(session string, seq int, more string) string {
		return fmt.Sprintf(`{"session_id":%q,"seq":%d,"streams":[{"request_id":"a"},{"request_id":"b"}%s]}`, session, seq, more)
	}
	fails = consumererror.NewRetryableError(fmt.Errorf("full"))
	post("/v1/rum", beacon("s", 1, ""), 503, 0, 0)
	fails = nil
	post("/v1/rum", beacon("s", 1, ""), 200, 2, 2) // what was not taken is no duplicate
	post("/v1/rum", beacon("s", 1, ""), 200, 2, 0)
	require.EqualValues(t, 2, s.counted("fermata_rum_duplicates", ""))
	post("/v1/rum", beacon("s", 1, " "), 200, 2, 0)                                     // the same beacon, other bytes
	post("/v1/rum", beacon("s", 1, `,{"request_id":"c"}`), 200, 3, 1)                   // a forged one hides nothing
	post("/v1/rum", beacon("s", 2, ""), 200, 2, 2)                                      // the next beacon
	post("/v1/rum", beacon("other", 1, ""), 200, 2, 2)                                  // another page
	post("/v1/rum", beacon("s", 0, ""), 200, 2, 2)                                      // the first beacon of a session
	post("/v1/rum", beacon("s", 0, ""), 200, 2, 0)                                      // sent again
	post("/v1/rum", beacon("s", 0, " "), 200, 2, 2)                                     // 0 may mean that nobody counts
	post("/v1/rum", `{"request_id":"a","submit_at":5}`, 200, 1, 1)                      // no session: nothing to tell it by
	post("/v1/rum", `{"request_id":"a","submit_at":5}`, 200, 1, 1)                      //
	post("/v1/rum", `{"session_id":"t","request_id":"a"}`, 200, 1, 1)                   //
	post("/v1/rum", `{"session_id":"t","request_id":"a"}`, 200, 1, 0)                   // the same
	post("/v1/rum", `{"session_id":"t","request_id":"a" }`, 200, 1, 1)                  // not the same
	post("/v1/rum", `{"session_id":"t","request_id":"a b"}`, 400, 0, 0)                 // refused
	post("/v1/rum", `{"session_id":"t","request_id":"a b"}`, 400, 0, 0)                 // each time
	post("/v1/rum", `{"session_id":"t","seq":7,"response_id":"chatcmpl-1"}`, 200, 1, 1) // told apart by the answer's id
	post("/v1/rum", `{"session_id":"t","seq":7,"response_id":"chatcmpl-2"}`, 200, 1, 1) //
	const faro = `{"meta":{"session":{"id":"f"}},"events":[{"name":"fermata.stream","attributes":{"request_id":"x"}}]}`
	post("/collect", faro, 202, 1, 1, "Idempotency-Key", "k1")
	post("/collect", faro+" ", 202, 1, 0, "Idempotency-Key", "k1")
	post("/collect", faro, 202, 1, 1, "Idempotency-Key", "k2")
}

func TestGzipWithoutAHeader(t *testing.T) {
	s := serve(t, serving(), nil)
	// A Blob of CompressionStream('gzip'), sent by navigator.sendBeacon.
	body := ingesttest.Compress(t, "gzip", []byte(beacon))
	for _, contentType := range []string{"text/plain;charset=UTF-8", "-"} {
		require.Equal(t, 200, ingesttest.Do(t, s.url+"/v1/rum", ingesttest.Request{ContentType: contentType, Body: body}).Status)
	}
	require.Len(t, clients(t, s.sink), 2, "the second was a duplicate")
	got := ingesttest.Do(t, s.url+"/v1/rum", ingesttest.Request{Body: body[:len(body)-9]})
	require.Equal(t, 400, got.Status)
	require.Contains(t, got.Answer.Errors[0].Reason, "is truncated gzip")
	got = ingesttest.Do(t, s.url+"/v1/rum", ingesttest.Request{Body: ingesttest.Compress(t, "gzip", make([]byte, 64<<20))})
	require.Equal(t, 413, got.Status)
	got = ingesttest.Do(t, s.url+"/v1/rum", ingesttest.Request{Body: []byte{0x1f, 0x8b}})
	require.Equal(t, 400, got.Status)
}

func TestCountry(t *testing.T) {
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-Country", RecordSize: 24, IncludeReservedNetworks: true})
	require.NoError(t, err)
	for network, code := range map[string]string{"198.51.100.0/24": "NZ", "2001:db8::/32": "IS"} {
		_, n, err := net.ParseCIDR(network)
		require.NoError(t, err)
		require.NoError(t, tree.Insert(n, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String(code)}}))
	}
	file := filepath.Join(t.TempDir(), "country.mmdb")
	out, err := os.Create(file)
	require.NoError(t, err)
	_, err = tree.WriteTo(out)
	require.NoError(t, err)
	require.NoError(t, out.Close())

	cfg := serving()
	cfg.GeoIPFile, cfg.TrustedProxies = file, []string{"127.0.0.1"}
	s := serve(t, cfg, nil)
	f := func(address, want string) {
		t.Helper()
		require.Equal(t, 200, s.post("", "X-Forwarded-For", address).Status)
		require.Equal(t, want, clients(t, s.sink)[0].Country)
	}
	f("198.51.100.77", "NZ")
	f("2001:db8::5", "IS")
	f("203.0.113.5", "")
	f("nonsense", "")

	cfg = serving()
	cfg.GeoIPFile = filepath.Join(t.TempDir(), "none.mmdb")
	r, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.ErrorContains(t, r.Start(context.Background(), ingesttest.Host{}), "geoip_file: ")
	require.NoError(t, r.Shutdown(context.Background()))
}

func TestOpenEndpointWarns(t *testing.T) {
	warned := func(cfg *Config) bool {
		s := serve(t, cfg, nil)
		return s.logs.FilterLevelExact(zap.WarnLevel).Len() == 1
	}
	require.False(t, warned(serving()), "on loopback a newcomer needs nothing")
	cfg := serving()
	cfg.HTTP.Get().NetAddr.Endpoint = "0.0.0.0:0"
	require.True(t, warned(cfg))
	cfg = hardened()
	cfg.HTTP.Get().NetAddr.Endpoint = "0.0.0.0:0"
	require.False(t, warned(cfg))
}

// TestFaro posts bodies that the real SDK sent, as it sent them.
func TestFaro(t *testing.T) {
	cfg := hardened()
	cfg.Keys[0].App = ""
	s := serve(t, cfg, nil)
	send := func(file string, status int) ingesttest.Response {
		t.Helper()
		body, err := os.ReadFile("../adapters/faro/testdata/in/2.12.1-" + file + ".json")
		require.NoError(t, err)
		got := ingesttest.Do(t, s.url+"/collect", ingesttest.Request{
			ContentType: "application/json", Encoding: "gzip", Body: ingesttest.Compress(t, "gzip", body),
			Header: map[string]string{"Origin": "https://shop.example", "X-API-Key": "shop-7f31c0", "X-Faro-Session-Id": "eUtQRzfyb1", "Idempotency-Key": file},
		})
		require.Equal(t, status, got.Status, got.Raw)
		return got
	}
	for _, file := range []string{"event", "measurement"} {
		require.Equal(t, 1, send(file, 202).Answer.Accepted)
		c := clients(t, s.sink)
		require.Len(t, c, 1)
		require.Equal(t, "faro-"+file+"-1", c[0].RequestID)
		require.Equal(t, []string{"acme", "faro-chat", "/chat", "eUtQRzfyb1"}, []string{c[0].Tenant, c[0].App, c[0].Page, c[0].SessionID})
		require.Len(t, c[0].Recv.T, 5)
		require.Len(t, c[0].Paint.T, 5)
		require.True(t, c[0].FirstPaint.OK)
	}
	require.Zero(t, send("other", 202).Answer.Accepted)
	require.Zero(t, send("traces", 202).Answer.Accepted)
	require.Empty(t, clients(t, s.sink))
	for signal, n := range map[string]int64{"event": 5, "measurement": 1, "log": 1, "exception": 2, "span": 2} {
		require.Equal(t, n, s.counted("fermata_rum_faro_ignored", signal), signal)
	}
	got := ingesttest.Do(t, s.url+"/collect?key=shop-7f31c0", ingesttest.Request{
		Header: map[string]string{"Origin": "https://shop.example"},
		Body: []byte(`{"events":[{"name":"fermata.stream","attributes":{"request_id":"good","session_id":"s"}},` +
			`{"name":"fermata.stream","attributes":{"request_id":"bad","recv":"{\"dt\":[-1]}"}}]`),
	})
	require.Equal(t, 400, got.Status)
	require.Equal(t, 1, got.Answer.Accepted, "a bad one costs no good one")
	require.Equal(t, 2, got.Answer.Rejected)
	require.Equal(t, []string{"recv.dt[0]", "(body)"}, []string{got.Answer.Errors[0].Field, got.Answer.Errors[1].Field})
	require.Equal(t, 1, *got.Answer.Errors[0].Index)
	require.Equal(t, "bad", got.Answer.Errors[0].RequestID)
}

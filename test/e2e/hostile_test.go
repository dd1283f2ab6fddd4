package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// hostile is script for pages, sequences for terminals (7-bit, 8-bit, reordering), and ends of lines, headers and quotes.
const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\x1b]0;owned\x07\x1b[2J\u009b1A\u009d52;c;aGk=\u009c\u202egnp\r\nX-Injected: 1\x7f\x00"

// attack is hostile without NUL, which every field refuses.
var attack = strings.TrimRight(hostile, "\x00")

// plainText checks that no terminal would do anything but print s.
func plainText(t *testing.T, what, s string) {
	t.Helper()
	require.True(t, utf8.ValidString(s), what)
	for i, r := range s {
		if r == '\n' {
			continue
		}
		require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%s holds %U at %d: %q", what, r, i, s[max(0, i-60):min(len(s), i+60)])
	}
	require.NotContains(t, s, "\nX-Injected", what)
}

// TestHostileStringsAreOnlyShown puts script and terminal sequences into every string that a page, server or gateway may send
// and looks at each place that shows them.
func TestHostileStringsAreOnlyShown(t *testing.T) {
	u := running(t)
	tenant := fmt.Sprintf("hostile-%x", time.Now().UnixNano())
	now := time.Now().Add(-time.Minute).UnixMicro()
	short := attack[:100] // of aliases and the like
	send := func(path string, v any, want int) string {
		t.Helper()
		code, answer := u.postJSON(t, path, v)
		require.Equal(t, want, code, "%s: %s", path, answer)
		plainText(t, path, string(answer))
		require.NotContains(t, string(answer), "<script", path)
		return string(answer)
	}
	with := func(base map[string]any, names ...string) map[string]any {
		for _, n := range names {
			base[n] = attack
		}
		return base
	}
	send("/v1/chunks", with(map[string]any{
		"request_id": "hostile-1", "tenant": tenant, "started_at": now, "seq": 0, "final": true,
		"chunks": map[string]any{"t": []int{100_000, 120_000, 9_000_000}, "bytes": []int{5, 5, 5}}, "aliases": []string{short},
	}, "emitter", "provider", "deployment", "model", "model_version", "route", "region", "finish_reason", "stop_reason", "error", "response_id", "app", "cache_key_version"), 200)
	send("/v1/gateway", with(map[string]any{
		"request_id": "hostile-1", "tenant": tenant, "received_at": now, "queue_wait_us": 5,
		"route_decision": map[string]any{"policy": attack, "candidates": []string{attack}, "chosen": attack, "reason": attack},
		"attempts":       []any{map[string]any{"attempt": 1, "deployment": attack, "provider": attack, "model": attack, "error": attack, "start": now, "status": 502}},
	}, "emitter", "provider", "deployment", "model", "model_version", "route", "app", "region", "cache_result", "error", "response_id"), 200)
	client := with(map[string]any{
		"request_id": "hostile-1", "tenant": tenant, "clock": map[string]any{"time_origin": now}, "submit_at": 1000, "first_meaningful_paint_at": 200_000, "done_at": 9_100_000,
		"connection": map[string]any{"type": attack, "rtt": 5}, "recv": map[string]any{"t": []int{150_000, 170_000, 9_100_000}, "bytes": []int{5, 5, 5}},
		"aliases": []string{short + "c"},
	}, "session_id", "page", "app", "release", "browser", "os", "device", "country", "content_kind", "protocol", "paint_source", "error", "finish_reason", "response_id")
	send("/v1/rum", client, 200)
	faro := map[string]any{}
	for k, v := range client {
		if s, ok := v.(string); ok {
			faro[k] = s
			continue
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		faro[k] = string(b)
	}
	faro["request_id"] = "hostile-2"
	send("/collect", map[string]any{
		"meta":   map[string]any{"session": map[string]any{"id": attack}, "app": map[string]any{"name": attack}, "browser": map[string]any{"name": attack, "os": attack}, "page": map[string]any{"url": attack}},
		"events": []any{map[string]any{"name": "fermata.stream", "attributes": faro}, map[string]any{"name": attack, "attributes": map[string]any{attack: attack}}},
	}, 202)
	// Refusals name what is wrong, and repeat it harmlessly or not at all.
	send("/v1/rum", map[string]any{"session_id": "s", "query_type": attack, "trace_id": attack, attack: attack, "recv": map[string]any{"t": []int{1}, "kind": []string{attack}}}, 400)
	send("/v1/rum", map[string]any{"session_id": hostile}, 400)
	send("/v1/rum", map[string]any{"request_id": attack}, 400)
	send("/collect", map[string]any{"events": []any{map[string]any{"name": "fermata.stream", "attributes": map[string]any{"recv": attack}}}}, 400)

	for _, id := range []string{"hostile-1", "hostile-2"} {
		require.Eventually(t, func() bool {
			code, b := u.get(t, "/v1/requests/"+id+"?tenant="+tenant)
			return code == http.StatusOK && bytes.Contains(b, []byte(`"session_id":"`)) && (id != "hostile-1" || bytes.Contains(b, []byte(`"kind":"stall"`)))
		}, 2*time.Minute, 50*time.Millisecond, id)
	}

	// The API: JSON that no browser takes for a page and no terminal acts on, and that still says what was sent.
	api := func(path string, status int, mediaType string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url(u.API, path), nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		require.NoError(t, err)
		require.Equal(t, status, resp.StatusCode, "%s: %s", path, b.String())
		require.Equal(t, mediaType, strings.ReplaceAll(resp.Header.Get("Content-Type"), " ", ""), path)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), path)
		require.Empty(t, resp.Header.Get("X-Injected"))
		require.NotContains(t, b.String(), "<script>alert", path)
		require.NotContains(t, b.String(), "<img", path)
		if mediaType == "text/html;charset=utf-8" {
			require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
		} else {
			plainText(t, path, b.String())
		}
		return b.String()
	}
	var got struct {
		Client map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(api("/v1/requests/hostile-1?tenant="+tenant, 200, "application/json")), &got))
	for _, field := range []string{"session_id", "app", "browser", "os", "release"} {
		require.Equal(t, attack, got.Client[field], field)
	}
	api("/v1/requests/hostile-2?tenant="+tenant, 200, "application/json")
	api("/v1/requests?tenant="+tenant, 200, "application/json")
	api("/v1/findings?tenant="+tenant, 200, "application/json")
	api("/v1/requests/"+neturl.PathEscape(attack), 400, "application/problem+json")
	api("/v1/requests/x?tenant="+neturl.QueryEscape(attack), 400, "application/problem+json")
	api("/v1/findings?kind="+neturl.QueryEscape(attack), 400, "application/problem+json")
	api("/?tenant="+tenant, 200, "text/html;charset=utf-8")
	api("/", 200, "text/html;charset=utf-8")

	// The commands, as text and as JSON.
	run := func(code int, args ...string) {
		t.Helper()
		got, out, errOut := u.fermata(t, args...)
		require.Equal(t, code, got, errOut)
		plainText(t, fmt.Sprint(args), out)
		plainText(t, fmt.Sprint(args), errOut)
	}
	for _, extra := range [][]string{nil, {"--json"}, {"--width", "60"}, {"--width", "400"}} {
		run(0, append([]string{"request", "hostile-1", "--tenant", tenant}, extra...)...)
		run(0, append([]string{"request", "hostile-2", "--tenant", tenant}, extra...)...)
		run(0, append([]string{"requests", "--tenant", tenant}, extra...)...)
		run(0, append([]string{"findings", "--tenant", tenant}, extra...)...)
	}
	run(2, "request", short, "--tenant", tenant) // no alias can be asked for by such a name
	run(2, "request", "unknown"+attack)
	file := filepath.Join(t.TempDir(), "hostile.jsonl")
	b, err := json.Marshal(map[string]any{"request_id": attack, "session_id": attack, "query_type": attack, "recv": map[string]any{"t": []int{2, 1}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(b, '\n'), 0o600))
	code, out, errOut := u.fermata(t, "replay", "--format", "fermata", file)
	require.NotZero(t, code)
	plainText(t, "replay", out)
	plainText(t, "replay", errOut)
	plainText(t, "fermata up", u.log.String())
}

// TestBeaconsAsBrowsersSendThem posts one stream in every form that a browser may choose, with a key, to the open endpoint of
// `up`: each is stored.
func TestBeaconsAsBrowsersSendThem(t *testing.T) {
	u := running(t)
	var zipped bytes.Buffer
	send := func(name, query, contentType, encoding string, body []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.Ingest, "/v1/rum"+query), bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Origin", "https://shop.example")
		if contentType != "" {
			req.Header.Set("Content-Type", contentType)
		}
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		code, answer := do(t, req)
		require.Equal(t, http.StatusOK, code, "%s: %s", name, answer)
	}
	now := time.Now().UnixMicro()
	one := func(id string) []byte {
		return fmt.Appendf(nil, `{"session_id":"forms","seq":0,"clock":{"time_origin":%d},"streams":[{"request_id":%q,"submit_at":5,"recv":{"dt":[10,5],"bytes":[3,4],"kind_runs":[["role",1],["content",1]]},"sample_weight":2}]}`, now, id)
	}
	pack := func(b []byte) []byte {
		zipped.Reset()
		z := gzip.NewWriter(&zipped)
		_, err := z.Write(b)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return bytes.Clone(zipped.Bytes())
	}
	send("beacon", "?key=some-key-1", "text/plain;charset=UTF-8", "", one("form-text"))
	send("fetch", "", "application/json", "gzip", pack(one("form-gzip")))
	send("blob of a CompressionStream", "?key=some-key-1", "text/plain", "", pack(one("form-blob")))
	send("buffer", "", "", "", pack(one("form-buffer")))
	for _, id := range []string{"form-text", "form-gzip", "form-blob", "form-buffer"} {
		u.eventually(t, id, func(m map[string]any) bool {
			c, _ := m["client"].(map[string]any)
			return c != nil && c["content_bytes"] == 4.0
		})
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
)

// marker stands for what users write and models answer. It is nowhere in the product.
const marker = "zqMarmaladeQuokka"

// Text is read for loops and ends there: by every way in, none of it is found in the whole data folder (queues, state of
// open streams, the engine's files, logs), in any column of any table, in metrics, answers or the process's output.
func TestNoTextIsKept(t *testing.T) {
	sentence := " The " + marker + " went down to the harbour and sang."
	loop := strings.Repeat(sentence, 60)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 60 {
			b, _ := json.Marshal(map[string]any{"id": "chatcmpl-t", "object": "chat.completion.chunk", "model": "m", "choices": []any{
				map[string]any{"index": 0, "delta": map[string]any{"content": sentence}, "finish_reason": nil},
			}})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
			w.(http.Flusher).Flush()
		}
		_, _ = fmt.Fprint(w, `data: {"id":"chatcmpl-t","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	u, err := start(t.TempDir(), "--upstream", model.URL, "--verbose")
	require.NoError(t, err)
	stop := sync.OnceFunc(u.interrupt)
	defer stop()

	now := time.Now().Add(-time.Minute).UnixMicro()
	chunks := func(n int) map[string]any {
		var at []int64
		var text []string
		for i := range n {
			at, text = append(at, int64(100_000+i*20_000)), append(text, sentence)
		}
		return map[string]any{"t": at, "text": text}
	}
	send := func(addr, path string, headers map[string]string, v any, want int) {
		t.Helper()
		body, isText := v.(string)
		if !isText {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			body = string(b)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(addr, path), strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		for k, h := range headers {
			req.Header.Set(k, h)
		}
		code, answer := do(t, req)
		require.Equal(t, want, code, "%s: %s", path, answer)
		if addr == u.Ingest {
			require.NotContains(t, string(answer), marker, "%s answers with text", path)
		}
	}
	// Whole, in segments of which the last never comes, and one that waits for a segment in front of it.
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-whole", "started_at": now, "model": "m", "chunks": chunks(60), "finish_reason": "length"}, 200)
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-open", "started_at": now, "model": "m", "seq": 0, "final": false, "chunks": chunks(60)}, 200)
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-waits", "started_at": now, "model": "m", "seq": 3, "final": false, "chunks": chunks(60)}, 200)
	// Refused, in several ways.
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-bad", "started_at": -1, "chunks": chunks(3)}, 400)
	send(u.Ingest, "/v1/chunks", nil, `{"request_id":"t-cut","started_at":`+fmt.Sprint(now)+`,"chunks":{"t":[1],"text":["`+marker, 400)
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-odd", "started_at": now, "chunks": map[string]any{"t": []int{1}, "text": sentence}}, 400)
	send(u.Ingest, "/v1/chunks", nil, map[string]any{"request_id": "t-error", "started_at": now, "chunks": chunks(2), "error": map[string]any{"message": "could not answer: " + sentence}}, 200)
	// A gateway's record with prompt and answer, and its own chunks with text.
	send(u.Ingest, "/v1/gateway", nil, map[string]any{"request_id": "t-gw", "received_at": now, "chunks": chunks(60), "messages": []string{loop}, "error": "refused: " + sentence}, 200)
	// A page whose address and error hold what the user typed.
	send(u.Ingest, "/v1/rum", map[string]string{"Content-Type": "text/plain"}, map[string]any{
		"request_id": "t-whole", "session_id": "s", "page": "https://chat.example/c?q=" + marker + "#" + marker, "clock": map[string]any{"time_origin": now},
		"submit_at": 1, "error": "TypeError: cannot render " + sentence, "prompt": loop,
	}, 200)
	// The same of a page with Faro, whose logs, errors and user may hold anything.
	send(u.Ingest, "/collect", nil, map[string]any{
		"meta": map[string]any{
			"session": map[string]any{"id": "f", "attributes": map[string]any{"note": sentence}}, "user": map[string]any{"username": marker, "email": marker + "@chat.example"},
			"page": map[string]any{"url": "https://chat.example/c?q=" + marker}, "view": map[string]any{"name": sentence},
		},
		"events": []any{
			map[string]any{"name": "asked", "attributes": map[string]any{"question": loop}},
			map[string]any{"name": "fermata.stream", "attributes": map[string]any{
				"request_id": "t-faro", "submit_at": "1", "clock": fmt.Sprintf(`{"time_origin":%d}`, now), "prompt": loop, "error": "TypeError: cannot render " + sentence,
			}},
		},
		"logs": []any{map[string]any{"message": loop, "context": map[string]any{"answer": loop}}}, "exceptions": []any{map[string]any{"type": "Error", "value": loop}},
		"measurements": []any{map[string]any{"type": "custom", "values": map[string]any{"n": 1}, "context": map[string]any{"text": loop}}},
		"traces":       map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": []any{map[string]any{"name": sentence}}}}}}},
	}, 202)
	send(u.Ingest, "/collect", nil, map[string]any{"events": []any{map[string]any{"name": "fermata.stream", "attributes": map[string]any{"recv": loop}}}}, 400)
	// OTLP: the native form, and spans as SDKs write them with content recording on.
	attr := func(k string, v any) map[string]any { return map[string]any{"key": k, "value": v} }
	str := func(s string) map[string]any { return map[string]any{"stringValue": s} }
	num := func(n int64) map[string]any { return map[string]any{"intValue": fmt.Sprint(n)} }
	var at, text []any
	for i := range 60 {
		at, text = append(at, num(int64(100_000+i*20_000))), append(text, str(sentence))
	}
	send(u.OTLPHTTP, "/v1/logs", nil, map[string]any{"resourceLogs": []any{map[string]any{"scopeLogs": []any{map[string]any{"logRecords": []any{map[string]any{
		"timeUnixNano": fmt.Sprint(now * 1000), "eventName": "fermata.stream", "body": str(loop),
		"attributes": []any{
			attr("fermata.request_id", str("t-otlp")), attr("fermata.started_at", num(now)), attr("gen_ai.request.model", str("m")),
			attr("fermata.chunks.t", map[string]any{"arrayValue": map[string]any{"values": at}}),
			attr("fermata.chunks.text", map[string]any{"arrayValue": map[string]any{"values": text}}),
		},
	}}}}}}}, 200)
	send(u.OTLPHTTP, "/v1/traces", nil, map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": []any{map[string]any{
		"traceId": strings.Repeat("ab", 16), "spanId": strings.Repeat("cd", 8), "name": "chat m", "kind": 3,
		"startTimeUnixNano": fmt.Sprint(now * 1000), "endTimeUnixNano": fmt.Sprint((now + 5_000_000) * 1000),
		"attributes": []any{
			attr("fermata.request_id", str("t-span")), attr("gen_ai.operation.name", str("chat")), attr("gen_ai.request.model", str("m")),
			attr("gen_ai.prompt.0.content", str(loop)), attr("gen_ai.completion.0.content", str(loop)), attr("gen_ai.input.messages", str(loop)),
		},
		"events": []any{
			map[string]any{"timeUnixNano": fmt.Sprint((now + 900_000) * 1000), "name": "llm.content.completion.chunk", "attributes": []any{attr("content", str(sentence))}},
			map[string]any{"timeUnixNano": fmt.Sprint((now + 950_000) * 1000), "name": "exception", "attributes": []any{attr("exception.message", str(sentence))}},
		},
	}}}}}}}, 200)
	// The tap, question and answer.
	send(u.Tap, "/v1/chat/completions", map[string]string{"X-Request-Id": "t-tap"}, map[string]any{
		"model": "m", "stream": true, "messages": []any{map[string]any{"role": "user", "content": loop}},
	}, 200)

	// It was read: loops are found where text came.
	for _, id := range []string{"t-whole", "t-open", "t-otlp", "t-tap"} {
		u.eventually(t, id, func(m map[string]any) bool {
			for _, f := range m["findings"].([]any) {
				if f.(map[string]any)["kind"] == "loop" {
					return true
				}
			}
			return false
		})
	}
	for _, id := range []string{"t-gw", "t-error", "t-span", "t-faro"} {
		u.eventually(t, id, func(map[string]any) bool { return true })
	}
	for _, path := range []string{"/metrics", "/v1/requests/t-whole", "/v1/requests/t-error", "/v1/requests/t-gw", "/v1/requests/t-span", "/v1/findings?limit=1000"} {
		_, body := u.get(t, path)
		require.NotContains(t, string(body), marker, path)
	}
	requireNoTextInTables(t, u)
	// Stop it as a user does, so that open streams are written down, and look at every byte it left.
	stop()
	require.NotContains(t, u.log.String(), marker, "in the output")
	files := 0
	require.NoError(t, filepath.WalkDir(u.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		require.False(t, bytes.Contains(b, []byte(marker)), "%s holds text", path)
		return nil
	}))
	require.Greater(t, files, 10)
}

// requireNoTextInTables looks into every column of every row; on disk they are compressed.
func requireNoTextInTables(t *testing.T, u *up) {
	opts, err := clickhouse.ParseDSN(u.ClickHouse)
	require.NoError(t, err)
	conn, err := clickhouse.Open(opts)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	rows, err := conn.Query(t.Context(), "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree%'")
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	require.Contains(t, tables, "streams")
	for _, table := range tables {
		var all, bad uint64
		q := "SELECT count(), countIf(position(toString(tuple(*)), {marker:String}) > 0) FROM {table:Identifier}"
		require.NoError(t, conn.QueryRow(t.Context(), q, clickhouse.Named("marker", marker), clickhouse.Named("table", table)).Scan(&all, &bad))
		require.Zero(t, bad, "%s holds text", table)
	}
}

package genai

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testNow is a little after the times in testdata.
var testNow = time.Date(2026, 11, 29, 15, 30, 0, 0, time.UTC)

func translateTraces(t testing.TB, tr *Translator, body []byte) *Result {
	b := tr.NewBatch(testNow, nil)
	require.NoError(t, walkSpans(b, body))
	return b.Finish()
}

func walkSpans(b *Batch, body []byte) error {
	return otlpwire.Spans(body, func(src *otlpwire.Source, sp *otlpwire.Span) error {
		b.AddSpan(src, sp)
		return nil
	})
}

func translateLogs(t testing.TB, tr *Translator, body []byte, starts Starts) *Result {
	b := tr.NewBatch(testNow, starts)
	require.NoError(t, otlpwire.LogRecords(body, b.TakeLog, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error {
		b.AddLog(src, lr)
		return nil
	}))
	return b.Finish()
}

func body(t testing.TB, name string) []byte {
	raw, err := os.ReadFile(filepath.Join("testdata", "in", name))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".traces.json") {
		req := ptraceotlp.NewExportRequest()
		require.NoError(t, req.UnmarshalJSON(raw))
		b, err := req.MarshalProto()
		require.NoError(t, err)
		return b
	}
	req := plogotlp.NewExportRequest()
	require.NoError(t, req.UnmarshalJSON(raw))
	b, err := req.MarshalProto()
	require.NoError(t, err)
	return b
}

// reviewed is a result as the golden files show it.
type reviewed struct {
	Accepted, Ignored, Rejected, Incomplete int
	Rejects                                 []string
	Sources                                 []string
	Streams                                 []any
	Gateways                                []any
	Clients                                 []any
}

// trim drops what is empty, so that a golden file shows what was read.
func trim(v any) any {
	switch x := v.(type) {
	case map[string]any:
		if ok, has := x["OK"].(bool); has && len(x) == 2 {
			if !ok {
				return nil
			}
			return x["V"]
		}
		for k, e := range x {
			if packed, ok := e.(string); ok && k == "Kind" {
				x[k] = kindNamesOf(packed)
				continue
			}
			switch y := trim(e).(type) {
			case nil:
				delete(x, k)
			case string:
				if y == "" {
					delete(x, k)
				}
			case bool:
				if !y {
					delete(x, k)
				}
			case map[string]any:
				if len(y) == 0 {
					delete(x, k)
				}
			default:
				x[k] = y
			}
		}
	case []any:
		for i := range x {
			x[i] = trim(x[i])
		}
	}
	return v
}

// kindNamesOf reads what encoding/json makes of a []wire.Kind.
func kindNamesOf(packed string) string {
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return packed
	}
	names := make([]string, 0, len(raw))
	for _, k := range raw {
		names = append(names, wire.Kind(k).String())
	}
	return strings.Join(names, " ")
}

func review(t testing.TB, r *Result) []byte {
	out := reviewed{Accepted: r.Accepted, Ignored: r.Ignored, Rejected: r.Rejected, Incomplete: r.Incomplete}
	for _, j := range r.Rejects {
		id, err := json.Marshal([]any{j.Index, j.RequestID, j.Err.Error()})
		require.NoError(t, err)
		out.Rejects = append(out.Rejects, string(id))
	}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, s.String())
	}
	generic := func(v any) any {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		var g any
		dec := json.NewDecoder(strings.NewReader(string(b)))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&g))
		return trim(g)
	}
	for i := range r.Streams {
		out.Streams = append(out.Streams, generic(r.Streams[i]))
	}
	for i := range r.Gateways {
		out.Gateways = append(out.Gateways, generic(r.Gateways[i]))
	}
	for i := range r.Clients {
		out.Clients = append(out.Clients, generic(r.Clients[i]))
	}
	b, err := json.MarshalIndent(out, "", " ")
	require.NoError(t, err)
	return append(b, '\n')
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/in/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	tr := New(NewDefaultOptions())
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(name, func(t *testing.T) {
			var r *Result
			if strings.HasSuffix(name, ".traces.json") {
				r = translateTraces(t, tr, body(t, name))
			} else {
				r = translateLogs(t, tr, body(t, name), nil)
			}
			got := review(t, r)
			require.NotContains(t, string(got), "secret", "text of users must not be copied")
			golden := filepath.Join("testdata", "golden", name)
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

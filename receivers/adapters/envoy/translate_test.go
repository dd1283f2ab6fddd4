package envoy

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testNow = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type reviewed struct {
	Index   int
	Error   string `json:",omitempty"`
	Ignored bool   `json:",omitempty"`
	Gateway *wire.Gateway
}

func requests(t testing.TB, file string) [][]byte {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var out [][]byte
	for line := range bytes.Lines(raw) {
		req := plogotlp.NewExportRequest()
		require.NoError(t, req.UnmarshalJSON(bytes.TrimSpace(line)))
		b, err := req.MarshalProto()
		require.NoError(t, err)
		out = append(out, b)
	}
	return out
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/in/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			var out []reviewed
			for _, req := range requests(t, f) {
				require.NoError(t, otlpwire.LogRecords(req, nil, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error {
					r := reviewed{Index: len(out)}
					if !Recognize(src, lr) {
						r.Ignored = true
						out = append(out, r)
						return nil
					}
					g, err := Translate(src, lr)
					if err == nil {
						err = g.Validate(testNow, wire.NewDefaultLimits())
					}
					if err != nil {
						r.Error = err.Error()
					} else {
						r.Gateway = &g
					}
					out = append(out, r)
					return nil
				}))
			}
			got, err := json.MarshalIndent(out, "", " ")
			require.NoError(t, err)
			got = append(got, '\n')
			golden := filepath.Join("testdata", "golden", filepath.Base(f)+".golden.json")
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

// Attribute order is the sender's own.
func TestOrderDoesNotMatter(t *testing.T) {
	for _, req := range requests(t, "testdata/in/envoy_1_40.jsonl") {
		require.NoError(t, otlpwire.LogRecords(req, nil, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error {
			want, err := Translate(src, lr)
			require.NoError(t, err)
			for i, j := 0, len(lr.Attrs)-1; i < j; i, j = i+1, j-1 {
				lr.Attrs[i], lr.Attrs[j] = lr.Attrs[j], lr.Attrs[i]
			}
			require.True(t, Recognize(src, lr))
			got, err := Translate(src, lr)
			require.NoError(t, err)
			require.Equal(t, want, got)
			return nil
		}))
	}
}

func FuzzTranslate(f *testing.F) {
	for _, file := range []string{"testdata/in/envoy_1_40.jsonl", "testdata/in/variants.jsonl"} {
		for _, req := range requests(f, file) {
			f.Add(req)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = otlpwire.LogRecords(b, nil, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error {
			Recognize(src, lr)
			if g, err := Translate(src, lr); err == nil && g.Emitter == "" {
				t.Fatal("no emitter")
			}
			return nil
		})
	})
}

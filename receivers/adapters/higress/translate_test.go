package higress

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testNow = time.Date(2026, 11, 29, 15, 45, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reviewed is what became of one line.
type reviewed struct {
	Index   int
	Error   string           `json:",omitempty"`
	Ignored bool             `json:",omitempty"`
	Gateway *json.RawMessage `json:",omitempty"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/in/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			require.NoError(t, err)
			var out []reviewed
			wire.EachItem(raw, wire.NewDefaultDecodeOptions(), func(i int, obj []byte, e *wire.ItemError) {
				require.Nil(t, e)
				r := reviewed{Index: i}
				require.True(t, Recognize(obj), i)
				g, err := One(obj)
				if err == nil {
					err = g.Validate(testNow, wire.NewDefaultLimits())
				}
				switch {
				case errors.Is(err, ErrOtherCall):
					r.Ignored = true
				case err != nil:
					r.Error = err.Error()
				default:
					b := json.RawMessage(wire.AppendGatewayJSON(nil, &g))
					require.True(t, json.Valid(b))
					r.Gateway = &b
				}
				out = append(out, r)
			})
			got, err := json.MarshalIndent(out, "", " ")
			require.NoError(t, err)
			got = append(got, '\n')
			require.NotContains(t, string(got), "secret", "text of users must not be copied")
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

func FuzzOne(f *testing.F) {
	files, err := filepath.Glob("testdata/in/*")
	require.NoError(f, err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(f, err)
		wire.EachItem(raw, wire.NewDefaultDecodeOptions(), func(_ int, obj []byte, _ *wire.ItemError) { f.Add(obj) })
	}
	f.Fuzz(func(t *testing.T, obj []byte) {
		if g, err := One(obj); err == nil {
			_ = g.Validate(testNow, wire.NewDefaultLimits())
		}
	})
}

// Package adaptertest holds the tests that adapters of gateway logs share: golden files of what each line becomes,
// and a fuzz test whose seeds are those lines.
package adaptertest

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the receiver's clock in these tests.
var now = time.Date(2026, 11, 29, 15, 45, 0, 0, time.UTC)

// Adapter is what the package under test exports.
type Adapter struct {
	Recognize func(obj []byte) bool
	One       func(obj []byte) (wire.Gateway, error)
	Other     error // its ErrOtherCall
}

// reviewed is what became of one line.
type reviewed struct {
	Index   int
	Error   string           `json:",omitempty"`
	Ignored bool             `json:",omitempty"`
	Gateway *json.RawMessage `json:",omitempty"`
}

// Golden translates every line of testdata/in and compares with testdata/golden.
func Golden(t *testing.T, a Adapter) {
	files, err := filepath.Glob("testdata/in/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f) //nolint:gosec // a file of the test's own folder
			require.NoError(t, err)
			var out []reviewed
			wire.EachItem(raw, wire.NewDefaultDecodeOptions(), func(i int, obj []byte, e *wire.ItemError) {
				require.Nil(t, e)
				r := reviewed{Index: i}
				require.True(t, a.Recognize(obj), i)
				g, err := a.One(obj)
				if err == nil {
					err = g.Validate(now, wire.NewDefaultLimits())
				}
				switch {
				case errors.Is(err, a.Other):
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
			want, err := os.ReadFile(golden) //nolint:gosec // a file of the test's own folder
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

// Fuzz translates whatever comes; it must not panic.
func Fuzz(f *testing.F, a Adapter) {
	files, err := filepath.Glob("testdata/in/*")
	require.NoError(f, err)
	for _, name := range files {
		raw, err := os.ReadFile(name) //nolint:gosec // a file of the test's own folder
		require.NoError(f, err)
		wire.EachItem(raw, wire.NewDefaultDecodeOptions(), func(_ int, obj []byte, _ *wire.ItemError) { f.Add(obj) })
	}
	f.Fuzz(func(t *testing.T, obj []byte) {
		if g, err := a.One(obj); err == nil {
			_ = g.Validate(now, wire.NewDefaultLimits())
		}
	})
}

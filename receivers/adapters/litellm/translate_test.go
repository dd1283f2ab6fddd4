package litellm

import (
	"bytes"
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

var testNow = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reviewed is what became of one object.
type reviewed struct {
	Index   int
	Error   string           `json:",omitempty"`
	Gateway *json.RawMessage `json:",omitempty"`
	Stream  *json.RawMessage `json:",omitempty"`
}

func asJSON(t *testing.T, b []byte) *json.RawMessage {
	require.True(t, json.Valid(b), string(b))
	r := json.RawMessage(b)
	return &r
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
				require.True(t, Recognize(obj))
				g, s, err := One(obj)
				if err == nil {
					err = g.Validate(testNow, wire.NewDefaultLimits())
				}
				if err == nil && s != nil {
					err = s.Validate(testNow, wire.NewDefaultLimits())
				}
				r := reviewed{Index: i}
				if err != nil {
					r.Error = err.Error()
				} else {
					r.Gateway = asJSON(t, wire.AppendGatewayJSON(nil, &g))
					if s != nil {
						r.Stream = asJSON(t, wire.AppendStreamJSON(nil, s))
					}
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

// An abort before any text has the end where LiteLLM has nothing to tell of the first: no byte came.
func TestAbortBeforeTheFirstByte(t *testing.T) {
	raw, err := os.ReadFile("testdata/in/proxy_1_110.jsonl")
	require.NoError(t, err)
	aborts := 0
	for line := range bytes.Lines(raw) {
		if !bytes.Contains(line, []byte("ClientDisconnected")) {
			continue
		}
		aborts++
		g, _, err := One(line)
		require.NoError(t, err)
		require.NotZero(t, g.FirstByteAt, "as it came")
		var m map[string]any
		require.NoError(t, json.Unmarshal(line, &m))
		m["completionStartTime"] = m["endTime"]
		early, err := json.Marshal(m)
		require.NoError(t, err)
		g, _, err = One(early)
		require.NoError(t, err)
		require.NotZero(t, g.CancelledAt)
		require.Zero(t, g.FirstByteAt)
		require.False(t, g.Reported.TTFTUS.OK)
	}
	require.Equal(t, 1, aborts)
}

func TestTranslateKeepsTheGoodOnes(t *testing.T) {
	raw, err := os.ReadFile("testdata/in/variants.jsonl")
	require.NoError(t, err)
	gateways, streams, err := Translate(raw)
	require.Len(t, gateways, 12)
	require.Len(t, streams, 11)
	var item *wire.ItemError
	require.True(t, errors.As(err, &item))
	require.Equal(t, 11, item.Index)
	require.ErrorContains(t, err, "startTime: is missing")
	require.ErrorContains(t, err, "endTime: lies before startTime")
	require.NotErrorIs(t, err, ErrOtherCall)
}

func FuzzTranslate(f *testing.F) {
	for _, name := range []string{"litellm_1_110.jsonl", "proxy_1_110.jsonl", "variants.jsonl", "wrapped.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "in", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"startTime":1e308,"endTime":-1,"call_type":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		gateways, streams, _ := Translate(b)
		if len(streams) > len(gateways) {
			t.Fatal("a stream without a gateway record")
		}
		for i := range gateways {
			_ = gateways[i].Validate(testNow, wire.NewDefaultLimits())
		}
	})
}

package otlp

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// Whatever comes in: no panic, a known error, and what is accepted can be read back from the pipeline's form.
func FuzzBody(f *testing.F) {
	f.Add(must[[]byte](f)(spans(good, early, ordinary).MarshalProto()), false)
	f.Add(must[[]byte](f)(spans(good).MarshalJSON()), true)
	f.Add(must[[]byte](f)(chunkLogs(0, 4).MarshalProto()), false)
	f.Add(must[[]byte](f)(chunkLogs(0, 4).MarshalJSON()), true)
	tr := genai.New(genai.NewDefaultOptions())
	st := newStarts(100, time.Hour)
	f.Fuzz(func(t *testing.T, body []byte, asJSON bool) {
		for _, sig := range []signal{signalTraces, signalLogs} {
			b := body
			if asJSON {
				var err error
				if b, err = fromJSON(sig, body); err != nil {
					require.ErrorIs(t, err, errUnparsable)
					continue
				}
			}
			r, release, err := translate(tr, sig, b, testNow, st)
			defer release()
			if err != nil {
				if !errors.Is(err, errUnparsable) {
					t.Fatal(err)
				}
				continue
			}
			_, err = response(sig, outcome{r.Rejected, describe(sig, r)}, asJSON)
			require.NoError(t, err)
			ld := logs(r, testNow)
			for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
				if lr.EventName() == streamlog.EventStream {
					s, err := streamlog.Stream(lr, 200_000)
					require.NoError(t, err)
					require.NoError(t, s.Validate(testNow, genai.NewDefaultOptions().Limits))
				}
			}
		}
	})
}

func TestTooDeep(t *testing.T) {
	for in, want := range map[string]bool{
		`{"a":[{"b":1}]}`:     false,
		`[[[[]]]]`:            true,
		`{"a":"[[[[[[[[\"["}`: false,
		`{"a":"\\"}[[[[`:      true,
	} {
		require.Equal(t, want, tooDeep([]byte(in), 3), in)
	}
}

package faro

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/internal/wire/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the receiver's clock in these tests.
var now = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

func options() wire.DecodeOptions {
	o := wire.NewDefaultDecodeOptions()
	o.Now = now
	return o
}

// reviewed is what became of a body.
type reviewed struct {
	Streams []json.RawMessage `json:",omitempty"`
	Errors  []string          `json:",omitempty"`
	Ignored map[string]int    `json:",omitempty"`
}

func review(t *testing.T, body []byte, o Options) reviewed {
	t.Helper()
	got, err := Read(body, o)
	out := reviewed{Ignored: map[string]int{}}
	add := func(err error) {
		for _, e := range wire.FieldErrors(err) {
			out.Errors = append(out.Errors, e.Error())
		}
	}
	for _, item := range got.Items {
		if item.Err != nil {
			add(item.Err)
			continue
		}
		list, errs := wire.DecodeClients(item.Body, options())
		for i := range list {
			out.Streams = append(out.Streams, wire.AppendClientJSON(nil, &list[i]))
		}
		for i := range errs {
			add(errs[i].Err)
		}
	}
	add(err)
	for s, n := range got.Ignored {
		if n > 0 {
			out.Ignored[Signal(s).String()] = n
		}
	}
	return out
}

// TestGolden reads bodies that the real SDK sent (test/faro, npm run record) and hand-made ones in the form of older versions.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/in/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			require.NoError(t, err)
			got, err := json.MarshalIndent(review(t, raw, Options{MaxItems: 100}), "", " ")
			require.NoError(t, err)
			got = append(got, '\n')
			for _, private := range []string{"Ada", "ada@", "user-1", "a-question", "faro-key"} {
				require.NotContains(t, string(got), private)
			}
			golden := filepath.Join("testdata/golden", filepath.Base(f))
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "run the test with -update")
			require.Equal(t, string(want), string(got))
		})
	}
}

// TestStructuredFields holds the list of fields that are no strings against the schema of POST /v1/rum.
func TestStructuredFields(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Type any `json:"type"`
				Enum []any
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema.RUM(), &doc))
	fields := doc.Defs["stream"].Properties
	require.Contains(t, fields, "recv")
	for name, f := range fields {
		types, _ := f.Type.([]any)
		if one, ok := f.Type.(string); ok {
			types = []any{one}
		}
		if name == "streams" { // refused by name
			continue
		}
		text := slices.Contains(types, any("string")) || len(f.Enum) > 0 || name == "error"
		require.Equal(t, !text, structured[name], name)
	}
	for name := range structured {
		require.Contains(t, fields, name)
	}
}

func TestMetaIsTakenOver(t *testing.T) {
	f := func(meta, want string) {
		t.Helper()
		body := `{"events":[{"name":"fermata.stream","attributes":{"request_id":"r"}}],"meta":` + meta + `}`
		got, err := Read([]byte(body), Options{SessionID: "header", MaxItems: 1})
		require.NoError(t, err)
		require.Equal(t, want, string(got.Items[0].Body))
	}
	f(`{}`, `{"request_id":"r","session_id":"header"}`)
	f(`null`, `{"request_id":"r","session_id":"header"}`)
	f(`[1]`, `{"request_id":"r","session_id":"header"}`)
	f(`{"session":{"id":"s"},"page":{"id":"p"},"app":{"name":"a","version":"1"}}`, `{"app":"a","page":"p","release":"1","request_id":"r","session_id":"s"}`)
	f(`{"session":5,"page":{"url":{}},"browser":{"name":"Firefox","version":"x","os":"Mac OS 10.15","mobile":true}}`,
		`{"browser":"Firefox","device":"mobile","os":"Mac OS","request_id":"r","session_id":"header"}`)
	f(`{"browser":{"name":"unknown","os":"unknown"}}`, `{"request_id":"r","session_id":"header"}`)
}

func TestProblems(t *testing.T) {
	f := func(body string, wantStreams int, want ...string) {
		t.Helper()
		got := review(t, []byte(body), Options{MaxItems: 2, SessionID: "s"})
		require.Len(t, got.Streams, wantStreams)
		require.Equal(t, want, got.Errors)
	}
	event := func(attributes string) string {
		return `{"name":"fermata.stream","attributes":` + attributes + `}`
	}
	f(`{"events":[`+event(`{"request_id":"a"}`)+`]}`, 1)
	f(`{"events":[5,`+event(`{"request_id":"a","recv":"[["}`)+`,`+event(`{"request_id":"b"}`)+`]}`, 1,
		"events[1].attributes.recv: is not JSON; write it with JSON.stringify")
	f(`{"events":[`+event(`{"submit_at":"1,\"tenant\":\"evil\""}`)+`]}`, 0, "events[0].attributes.submit_at: is not JSON; write it with JSON.stringify")
	f(`{"events":[`+event(`{"streams":"[]"}`)+`]}`, 0, "events[0].attributes.streams: can't stand here; push each stream on its own")
	f(`{"events":[`+event(`[]`)+`]}`, 0, "events[0].attributes: is no object")
	f(`{"events":[{"name":["fermata.stream"]}]}`, 0, "events[0]: is not an object as Faro writes it")
	f(`{"events":["fermata.stream"]}`, 0, "events[0]: is not an object as Faro writes it")
	f(`{"events":[`+event(`{"submit_at":"\"5\""}`)+`]}`, 0, "submit_at: is a string; want an integer number of µs")
	f(`{"events":[`+event(`{}`)+`,`+event(`{}`)+`,`+event(`{}`)+`]}`, 2, "(body): holds more than 2 streams; send them in several bodies")
	f(`{"measurements":[{"type":"fermata.stream","values":{"submit_at":5.4},"context":{"request_id":"a"}},{"type":"other","context":{"x":"fermata.stream"}}]}`, 1)
	f(`{"events":{}}`, 0, "events: is no array")
	f(`{"events":null,"measurements":null,"logs":null,"traces":null,"meta":null}`, 0)
	f(`{}`, 0)
	f(`[]`, 0, `(body): is not an object of the Faro SDK; want {"meta": …, "events": […], …}`)
	f(``, 0, `(body): is not an object of the Faro SDK; want {"meta": …, "events": […], …}`)
	f(`{"events":[`+event(`{"request_id":"a"}`)+`],`, 1, "(body): is not valid JSON, or is cut")
	f(`{} {}`, 0, "(body): is not valid JSON, or is cut")
	f(`{"x":`+strings.Repeat("[", 100_000), 0, "(body): is not valid JSON, or is cut")
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/in/*.json")
	require.NoError(f, err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"events":[{"name":"fermata.stream","attributes":{"recv":"{}","a":"b"},"trace":{"trace_id":"x"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Read(bytes.Clone(body), Options{MaxItems: 10})
		require.LessOrEqual(t, len(got.Items), 11)
		for _, item := range got.Items {
			require.Equal(t, item.Err == nil, item.Body != nil)
			if item.Err != nil {
				require.NotEmpty(t, wire.FieldErrors(item.Err))
				continue
			}
			require.True(t, json.Valid(item.Body))
			wire.EachClient(item.Body, options(), func(i int, _ *wire.Client, _ *wire.ItemError) { require.Zero(t, i) })
		}
		if err != nil {
			require.Len(t, wire.FieldErrors(err), 1)
		} else {
			require.True(t, json.Valid(body), "what is taken is JSON")
		}
	})
}

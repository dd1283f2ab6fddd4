package ingesttest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Bad is an item that must be refused, and what the refusal must say.
type Bad struct {
	Name, Item, Field, Reason string
}

// Hostile is one endpoint under attack.
type Hostile struct {
	URL string
	// Sink is the end of the pipeline.
	Sink *consumertest.LogsSink
	// MaxBodyBytes is the endpoint's limit, which must be below 4 MiB, lest the test be slow.
	MaxBodyBytes int64
	// Good makes a valid item.
	Good func(id string) string
	// ID reads the request id of a record in the pipeline.
	ID func(plog.LogRecord) string
	// Array is the path of an array of numbers in an item; With makes an item with that array's text.
	Array string
	With  func(id, numbers string) string
	// Items are the endpoint's own bad items.
	Items []Bad
}

// Run sends every hostile request and checks its status, that field and reason are named, that valid
// neighbours are stored, and that memory stays flat.
func (h *Hostile) Run(t *testing.T) {
	h.requests(t)
	for _, b := range append(h.common(), h.Items...) {
		t.Run("item/"+b.Name, func(t *testing.T) { h.item(t, b) })
	}
}

// stored returns the ids that reached the pipeline since the last call.
func (h *Hostile) stored() []string {
	var ids []string
	for _, l := range h.Sink.AllLogs() {
		for _, rl := range l.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, lr := range sl.LogRecords().All() {
					ids = append(ids, h.ID(lr))
				}
			}
		}
	}
	h.Sink.Reset()
	return ids
}

// flat runs f and checks that it allocated little in all: what was never allocated was never held.
func (h *Hostile) flat(t *testing.T, sent int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	// The client, in the same process, holds what it sends; the server at most twice its limit while a buffer
	// grows, and what it makes of an item.
	most := uint64(h.MaxBodyBytes)*6 + uint64(sent)*3 + 8<<20 //nolint:gosec // positive
	require.Less(t, after.TotalAlloc-before.TotalAlloc, most)
	runtime.GC()
	runtime.ReadMemStats(&after)
	// A decompressor waits in its pool with a window of at most 8 MiB.
	require.Less(t, after.HeapAlloc, before.HeapAlloc+12<<20+uint64(sent)) //nolint:gosec // positive
}

// item posts a bad item between two good ones.
func (h *Hostile) item(t *testing.T, b Bad) {
	for name, body := range map[string]string{
		"array": "[" + h.Good("left") + "," + b.Item + "," + h.Good("right") + "]",
		"lines": h.Good("left") + "\n" + strings.ReplaceAll(b.Item, "\n", " ") + "\n" + h.Good("right") + "\n",
	} {
		h.flat(t, len(body), func() {
			r := Request{Body: []byte(body)}
			if name == "lines" {
				r.ContentType = "application/x-ndjson"
			}
			got := Do(t, h.URL, r)
			require.Equal(t, http.StatusBadRequest, got.Status, got.Raw)
			require.Equal(t, []string{"left", "right"}, h.stored(), "the neighbours are stored")
			require.Equal(t, 2, got.Answer.Accepted)
			require.Equal(t, 1, got.Answer.Rejected)
			require.NotEmpty(t, got.Answer.Errors)
			require.Equal(t, 1, *got.Answer.Errors[0].Index)
			require.Equal(t, b.Field, got.Answer.Errors[0].Field, got.Raw)
			require.Contains(t, got.Answer.Errors[0].Reason, b.Reason)
			require.Less(t, len(got.Raw), 4096, "an answer repeats nothing at length")
		})
	}
}

func (h *Hostile) common() []Bad {
	many := strings.Repeat("1,", 1_000_000) + "1"
	array := func(name, numbers, at, reason string) Bad {
		return Bad{name, h.With("x", numbers), h.Array + at, reason}
	}
	return []Bad{
		{"not JSON", `{"request_id": nope}`, "request_id", "want"},
		{"cut", `{"request_id":"x",}`, "(item)", "want"},
		{"scalar", `17`, "(item)", "is a number; want an object"},
		{"null", `null`, "(item)", "is null; want an object"},
		{"id type", strings.Replace(h.Good("x"), `"x"`, `7`, 1), "request_id", "is a number; want a string"},
		{"huge id", h.Good(strings.Repeat("x", 100_000)), "request_id", "has 100000 bytes"},
		{"long id", h.Good(strings.Repeat("x", 129)), "request_id", "at most 128"},
		{"id with a space", h.Good("a b"), "request_id", "may hold only"},
		{"id with NUL", h.Good(`a\u0000b`), "request_id", "may hold only"},
		{"id with raw NUL", h.Good("a\x00b"), "request_id", "raw control character"},
		{"id with bad UTF-8", h.Good("a\xff\xfeb"), "request_id", "is not valid UTF-8"},
		{"id with half a pair", h.Good(`a\udc00b`), "request_id", "surrogate"},
		{"deep in an unknown field", deep(h.Good("x"), 100_000), "x", "nests deeper"},
		array("string in array", `1,"2"`, "[1]", "is a string; want an integer number of µs"),
		array("object in array", `1,{"a":[]}`, "[1]", "is an object"),
		array("null in array", `null`, "[0]", "is null"),
		array("negative time", `-5`, "[0]", "is negative"),
		array("unsorted times", `9,8`, "[1]", "ascend"),
		array("nanoseconds", `1,50000000000000000`, "[1]", "are these nanoseconds?"),
		array("beyond int64", `123456789012345678901234567890`, "[0]", "is out of range"),
		array("1e400", `1e400`, "[0]", "is out of range"),
		array("million numbers", many, "", "has more than"),
	}
}

// deep adds an unknown field of nested arrays.
func deep(item string, n int) string {
	return strings.TrimSuffix(item, "}") + `,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
}

// requests sends what must be refused as a whole.
func (h *Hostile) requests(t *testing.T) {
	good := "[" + h.Good("a") + "]"
	f := func(name string, r Request, status int, field, reason string) {
		t.Helper()
		t.Run("request/"+name, func(t *testing.T) {
			h.flat(t, len(r.Body), func() {
				got := Do(t, h.URL, r)
				require.Equal(t, status, got.Status, got.Raw)
				require.Empty(t, h.stored())
				require.Equal(t, 0, got.Answer.Accepted)
				require.NotEmpty(t, got.Answer.Errors)
				require.Equal(t, field, got.Answer.Errors[0].Field, got.Raw)
				require.Contains(t, got.Answer.Errors[0].Reason, reason)
				require.Less(t, len(got.Raw), 16384)
			})
		})
	}
	for _, encoding := range []string{"gzip", "zstd", "deflate"} {
		whole := Compress(t, encoding, []byte(strings.Repeat(" ", 5000)+good))
		t.Run("request/whole "+encoding, func(t *testing.T) {
			got := Do(t, h.URL, Request{Encoding: encoding, Body: whole})
			require.Equal(t, http.StatusOK, got.Status, got.Raw)
			require.Equal(t, []string{"a"}, h.stored())
		})
		f("truncated "+encoding, Request{Encoding: encoding, Body: whole[:len(whole)-9]}, http.StatusBadRequest, "(body)", "is truncated "+encoding)
		f("empty "+encoding, Request{Encoding: encoding}, http.StatusBadRequest, "(body)", "")
		f("not "+encoding, Request{Encoding: encoding, Body: []byte(good)}, http.StatusBadRequest, "(body)", "is not valid "+encoding)
		bomb := Compress(t, encoding, make([]byte, 64<<20))
		f("bomb "+encoding, Request{Encoding: encoding, Body: bomb}, http.StatusRequestEntityTooLarge, "(body)", "decompresses to more than")
	}
	f("unknown encoding", Request{Encoding: "br", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Encoding", "gzip, zstd")
	f("two encodings", Request{Encoding: "gzip, gzip", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Encoding", "gzip, zstd")
	big := bytes.Repeat([]byte(" "), int(h.MaxBodyBytes)+1)
	f("too large", Request{Body: big}, http.StatusRequestEntityTooLarge, "(body)", "has more than")
	f("too large, length unknown", Request{Reader: io.MultiReader(bytes.NewReader(big))}, http.StatusRequestEntityTooLarge, "(body)", "has more than")
	f("form", Request{ContentType: "application/x-www-form-urlencoded", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Type", "application/json")
	f("protobuf", Request{ContentType: "application/x-protobuf", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Type", "application/json")
	f("malformed type", Request{ContentType: "a;b;c=", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Type", "malformed")
	f("charset", Request{ContentType: "application/json; charset=utf-16", Body: []byte(good)}, http.StatusUnsupportedMediaType, "Content-Type", "charset")
	f("GET", Request{Method: http.MethodGet}, http.StatusMethodNotAllowed, "(method)", "is not POST")
	f("DELETE", Request{Method: http.MethodDelete}, http.StatusMethodNotAllowed, "(method)", "is not POST")
	f("empty", Request{}, http.StatusBadRequest, "(body)", "is empty")
	f("NUL bytes", Request{Body: make([]byte, 10_000)}, http.StatusBadRequest, "(item)", "want an object")
	f("HTML", Request{Body: []byte("<html>")}, http.StatusBadRequest, "(item)", "want an object")
	f("deep array", Request{Body: bytes.Repeat([]byte("["), 1_000_000)}, http.StatusBadRequest, "(item)", "want an object")
	f("deep object", Request{Body: bytes.Repeat([]byte(`{"a":`), 200_000)}, http.StatusBadRequest, "a", "nests deeper")
	f("array of numbers", Request{Body: []byte("[" + strings.Repeat("1,", 200_000) + "1]")}, http.StatusBadRequest, "(item)", "is a number")
	// Ten million numbers: 20 MB of text, which hardly fill a packet.
	bomb := Compress(t, "gzip", []byte(h.With("x", strings.Repeat("1,", 10_000_000)+"1")))
	f("ten million chunks", Request{Encoding: "gzip", Body: bomb}, http.StatusRequestEntityTooLarge, "(body)", "decompresses to more than")

	t.Run("request/bomb of bombs", func(t *testing.T) {
		// A gigabyte of zeros from a pipe: the server must hang up early, whatever the client thinks of it.
		r, w := io.Pipe()
		go func() {
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			zeros := make([]byte, 1<<20)
			for range 1024 {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
			_ = w.CloseWithError(z.Close())
		}()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, h.URL, r)
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Content-Encoding", "gzip")
		resp, err := http.DefaultClient.Do(req)
		_ = r.Close()
		if err == nil {
			require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
		}
	})

	t.Run("request/allowed", func(t *testing.T) {
		got := Do(t, h.URL, Request{Method: http.MethodGet})
		require.Equal(t, "POST", got.Header.Get("Allow"))
		got = Do(t, h.URL, Request{Encoding: "br", Body: []byte(good)})
		require.Contains(t, got.Header.Get("Accept-Encoding"), "zstd")
		got = Do(t, h.URL, Request{Body: []byte(good)})
		require.Equal(t, http.StatusOK, got.Status)
		require.JSONEq(t, `{"accepted":1,"rejected":0}`, got.Raw)
		require.Equal(t, []string{"a"}, h.stored())
	})
}

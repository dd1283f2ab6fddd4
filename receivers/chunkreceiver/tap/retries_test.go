package tap_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A gateway that tries again sends the same id: calls that follow a failed one are counted, and an id that was answered
// begins anew.
func TestAttemptsAreCounted(t *testing.T) {
	var calls atomic.Int32
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch calls.Add(1) {
		case 1:
			http.Error(w, `{"error":{"type":"server_error"}}`, http.StatusInternalServerError)
		case 2: // breaks off in the middle
			stream(w, begun)
			panic(http.ErrAbortHandler)
		default:
			stream(w, answered)
		}
	}))
	ask := func(header ...string) {
		res := post(t, b.url+"/v1/chat/completions", "again", `{"model":"m","stream":true}`, header...)
		_, _ = io.Copy(io.Discard, res.Body) // the broken one fails
	}
	for range 4 {
		ask()
	}
	ask("X-Envoy-Attempt-Count", "7")
	ask("X-Envoy-Attempt-Count", "7", "X-Fermata-Attempt", "9")
	require.ElementsMatch(t, []uint32{1, 2, 3, 1, 7, 9}, b.attempts(t, 6))
}

const (
	answered = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	begun    = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	failing  = begun + "data: {\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}\n\n"
)

func stream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
}

// attempts waits for so many whole records and returns their numbers.
func (r *recorder) attempts(t *testing.T, n int) (got []uint32) {
	t.Helper()
	require.Eventually(t, func() bool {
		got = got[:0]
		for _, s := range r.all() {
			if s.Final {
				got = append(got, s.Attempt)
			}
		}
		return len(got) == n
	}, 10*time.Second, time.Millisecond)
	return got
}

// An Envoy between a gateway and the tap says of each of the gateway's calls that it is its first.
func TestAnEnvoyCountsItsOwnTriesOnly(t *testing.T) {
	var calls atomic.Int32
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) < 3 {
			http.Error(w, `{"error":{"type":"server_error"}}`, http.StatusInternalServerError)
			return
		}
		stream(w, answered)
	}))
	for range 3 {
		res := post(t, b.url+"/v1/chat/completions", "again", `{"model":"m","stream":true}`, "X-Envoy-Attempt-Count", "1")
		_, _ = io.Copy(io.Discard, res.Body)
	}
	require.ElementsMatch(t, []uint32{1, 2, 3}, b.attempts(t, 3))
}

// Who sees an error event in the stream may try again before that stream is over.
func TestAnErrorEventIsAFailureAtOnce(t *testing.T) {
	over := make(chan struct{})
	var calls atomic.Int32
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) == 1 {
			stream(w, failing)
			<-over
			return
		}
		stream(w, answered)
	}))
	first := post(t, b.url+"/v1/chat/completions", "again", `{"model":"m","stream":true}`)
	_, err := io.ReadFull(first.Body, make([]byte, len(failing)))
	require.NoError(t, err)
	for range 2 { // the second of them begins anew: the first was answered
		res := post(t, b.url+"/v1/chat/completions", "again", `{"model":"m","stream":true}`)
		_, _ = io.Copy(io.Discard, res.Body)
		b.attempts(t, int(calls.Load())-1)
	}
	close(over)
	_, _ = io.Copy(io.Discard, first.Body)
	require.ElementsMatch(t, []uint32{1, 2, 1}, b.attempts(t, 3))
	// The first call's end, after that of the one which followed it, is no new failure.
	res := post(t, b.url+"/v1/chat/completions", "again", `{"model":"m","stream":true}`)
	_, _ = io.Copy(io.Discard, res.Body)
	require.ElementsMatch(t, []uint32{1, 2, 1, 1}, b.attempts(t, 4))
}

// An id that the tap made up comes from nobody again.
func TestMadeUpIdsAreNotRemembered(t *testing.T) {
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, `{"error":{"type":"server_error"}}`, http.StatusInternalServerError)
	}))
	for _, id := range []string{"", "no id", "one", "one", "two"} {
		res := post(t, b.url+"/v1/chat/completions", id, `{"model":"m","stream":true}`)
		_, _ = io.Copy(io.Discard, res.Body)
	}
	require.ElementsMatch(t, []uint32{1, 1, 1, 2, 1}, b.attempts(t, 5))
	require.Equal(t, 2, b.tap.Remembered())
}

package tap_test

import (
	"fmt"
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
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
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
	var got []uint32
	require.Eventually(t, func() bool {
		got = got[:0]
		for _, s := range b.all() {
			if s.Final {
				got = append(got, s.Attempt)
			}
		}
		return len(got) == 6
	}, 10*time.Second, time.Millisecond)
	require.ElementsMatch(t, []uint32{1, 2, 3, 1, 7, 9}, got)
}

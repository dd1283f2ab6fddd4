package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// threeTiers returns one request's records as the three endpoints take them.
func threeTiers(id string, t0 int64) map[string]any {
	t := make([]int64, 50)
	b := make([]int, 50)
	for i := range t {
		t[i] = 200_000 + int64(i)*30_000
		b[i] = 4
	}
	recv := make([]int64, len(t))
	const origin = 60_000_000 // the page had been open for a minute
	for i := range t {
		recv[i] = origin + 12_000 + t[i]
	}
	return map[string]any{
		"/v1/chunks": map[string]any{
			"request_id": id, "emitter": "vllm", "provider": "self", "deployment": "gpu-1", "model": "m-70b",
			"started_at": t0, "chunks": map[string]any{"t": t, "bytes": b}, "finish_reason": "stop",
			"output_tokens": 50, "queue_us": 12_000, "end_us": 1_700_000, "response_id": "chatcmpl-" + id,
		},
		"/v1/gateway": map[string]any{
			"request_id": id, "emitter": "router", "received_at": t0 - 20_000, "upstream_sent_at": t0 - 1_000,
			"first_byte_at": t0 + 201_000, "last_byte_at": t0 + 1_702_000, "queue_wait_us": 15_000, "cache_lookup_us": 900,
			"attempts": []any{map[string]any{
				"attempt": 1, "deployment": "gpu-1", "start": t0 - 1_000, "end": t0 + 1_702_000, "status": 200, "served": true,
			}},
		},
		"/v1/rum": map[string]any{
			"request_id": id, "session_id": "s-" + id, "app": "chat", "page": "/chat",
			"clock":     map[string]any{"time_origin": t0 - origin, "now": origin + 2_000_000},
			"submit_at": origin - 30_000, "request_sent_at": origin - 25_000, "headers_at": origin + 40_000,
			"recv": map[string]any{"t": recv, "bytes": b}, "first_meaningful_paint_at": origin + 230_000, "done_at": origin + 1_720_000,
		},
	}
}

// Whatever the order in which the tiers arrive, and though each arrives twice, the answer is the same to the byte.
func TestAnyOrderTwiceSameAnswer(t *testing.T) {
	u := running(t)
	t0 := time.Now().Add(-time.Minute).UnixMicro()
	paths := []string{"/v1/chunks", "/v1/gateway", "/v1/rum"}
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	var want string
	for n, order := range orders {
		tenant := fmt.Sprintf("order-%d", n) // a tenant each, so that the same id can be sent six times
		for range 2 {
			for _, i := range order {
				body := threeTiers("req-order", t0)[paths[i]].(map[string]any)
				body["tenant"] = tenant
				code, answer := u.postJSON(t, paths[i], body)
				require.Equal(t, http.StatusOK, code, "%s: %s", paths[i], answer)
			}
		}
		got := u.eventually(t, "req-order?tenant="+tenant, func(m map[string]any) bool {
			attempts, _ := m["attempts"].([]any)
			if len(attempts) != 1 || m["client"] == nil {
				return false
			}
			a := attempts[0].(map[string]any)
			return a["server"] != nil && a["gateway"] != nil
		})
		answer := withoutTenant(string(got), tenant)
		if want == "" {
			want = answer
		}
		require.Equal(t, want, answer, "order %v", order)
	}
}

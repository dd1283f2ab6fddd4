package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// visit is a page's session with a server, on delays that are known: the truth that answers are held to. Instants are µs on
// the server's clock.
type visit struct {
	session string
	rand    *rand.Rand
	began   int64
	theta   func(x int64) int64 // page's clock − server's clock when the server's shows x
	best    int64               // best round trip of all requests
	asks    []ask
}

// ask is one request of it.
type ask struct {
	id       string
	start    int64 // the server has the request
	up, down int64 // delays of the request and of its first text
	server   map[string]any
	page     map[string]any
}

// origin is the page's time origin, on its own clock.
func (v *visit) origin() int64 { return v.began - 600_000_000 + v.theta(v.began) }

// ask adds a request that reaches the server at an instant, with delays between the given and three times as much.
func (v *visit) ask(id string, start, least int64) *ask {
	delay := func() int64 { return least + v.rand.Int64N(2*least) }
	page := func(x int64) int64 { return x + v.theta(x) - v.origin() }
	a := ask{id: id, start: start, up: delay()}
	var t, recv []int64
	var size []int
	arrived, shortest := int64(0), int64(math.MaxInt64)
	for i := range int64(40) {
		at, d := 250_000+25_000*i, delay()
		arrived = max(arrived, start+at+d)
		if i == 0 {
			a.down = d
		}
		shortest = min(shortest, arrived-start-at)
		t, recv, size = append(t, at), append(recv, page(arrived)), append(size, 4)
	}
	v.best = min(v.best, a.up+shortest)
	sent := start - a.up
	a.server = map[string]any{
		"request_id": id, "emitter": "vllm", "deployment": "gpu-1", "model": "m", "started_at": start,
		"chunks": map[string]any{"t": t, "bytes": size}, "finish_reason": "stop", "end_us": t[len(t)-1],
	}
	a.page = map[string]any{
		"request_id": id, "session_id": v.session, "app": "chat", "clock": map[string]any{"time_origin": v.origin(), "now": page(arrived + 1_000_000)},
		"submit_at": page(sent) - 5000, "request_sent_at": page(sent), "recv": map[string]any{"t": recv, "bytes": size},
		"first_meaningful_paint_at": recv[0] + 16_000, "done_at": recv[len(recv)-1],
	}
	v.asks = append(v.asks, a)
	return &v.asks[len(v.asks)-1]
}

func (v *visit) post(t *testing.T, u *up, asks ...ask) {
	for _, i := range v.rand.Perm(2 * len(asks)) {
		path, body := "/v1/chunks", asks[i/2].server
		if i%2 == 1 {
			path, body = "/v1/rum", asks[i/2].page
		}
		code, answer := u.postJSON(t, path, body)
		require.Equal(t, http.StatusOK, code, "%s: %s", path, answer)
	}
}

// settled waits until a request's clock rests on n requests.
func settled(t *testing.T, u *up, id string, n int) *requests.Request {
	var r requests.Request
	u.eventually(t, id, func(map[string]any) bool {
		code, b := u.get(t, "/v1/requests/"+id)
		return code == http.StatusOK && json.Unmarshal(b, &r) == nil && r.Clock != nil && r.Clock.Requests >= n
	})
	return &r
}

// right checks everything that is told of one request between the two clocks.
func (v *visit) right(t *testing.T, a *ask, r *requests.Request) {
	c := r.Clock
	theta := v.theta(a.start)
	require.LessOrEqual(t, c.MinUS, theta, a.id)
	require.GreaterOrEqual(t, c.MaxUS, theta, a.id)
	require.InDelta(t, theta, c.OffsetUS, float64(c.UncertaintyUS), a.id)
	// What clocks measure of a round trip holds what they drift apart in it: 100 ppm of a second.
	require.LessOrEqual(t, c.UncertaintyUS, v.best/2+50, a.id)
	sum := int64(0)
	for _, p := range r.Perceived.Parts {
		sum += p.US
		switch p.Part {
		case requests.PartUplink:
			require.InDelta(t, a.up, p.US, float64(p.UncertaintyUS), a.id)
			require.LessOrEqual(t, p.UncertaintyUS, v.best/2+50, a.id)
		case requests.PartDownlink:
			require.InDelta(t, a.down, p.US, float64(p.UncertaintyUS), a.id)
			require.LessOrEqual(t, p.UncertaintyUS, v.best/2+50, a.id)
		}
	}
	require.Equal(t, *r.Perceived.GapUS, sum, a.id)
	require.GreaterOrEqual(t, len(r.Perceived.Parts), 4, a.id)
}

// A page's clock that is 47 minutes off and drifts by 100 ppm: in a session of an hour, one-way delays are right within what
// is stated, which is at most half of the session's best round trip.
func TestDriftingPage(t *testing.T) {
	u := running(t)
	const n = 24
	for _, ahead := range []int64{47 * 60_000_000, -47 * 60_000_000} {
		t.Run(fmt.Sprintf("%d minutes", ahead/60_000_000), func(t *testing.T) {
			began := time.Now().Add(-70 * time.Minute).UnixMicro()
			v := &visit{
				session: fmt.Sprintf("drifting-%d", ahead), rand: rand.New(rand.NewPCG(47, uint64(ahead))), began: began, best: math.MaxInt64,
				theta: func(x int64) int64 { return ahead + (x-began)/10_000 },
			}
			for k := range int64(n) {
				v.ask(fmt.Sprintf("drift-%d-%d", ahead, k), began+k*150_000_000+v.rand.Int64N(30_000_000), 15_000)
			}
			v.post(t, u, v.asks...)
			for i := range v.asks {
				r := settled(t, u, v.asks[i].id, n)
				v.right(t, &v.asks[i], r)
				require.Equal(t, requests.ClockSession, r.Clock.Source)
				require.NotNil(t, r.Clock.DriftPPM)
				require.InDelta(t, 100, *r.Clock.DriftPPM, *r.Clock.DriftUncertaintyPPM+0.1)
				require.Empty(t, r.Conflicts)
			}
			// A late one on a better line makes all earlier ones better known.
			first, before := &v.asks[0], settled(t, u, v.asks[0].id, n).Clock.UncertaintyUS
			late := *v.ask(fmt.Sprintf("drift-%d-late", ahead), began+60_000_000, 4000)
			v.post(t, u, late)
			r := settled(t, u, first.id, n+1)
			require.Less(t, r.Clock.UncertaintyUS, before)
			v.right(t, first, r)
		})
	}
}

// A server's clock that is set by five seconds in the middle of a session: each side of the step is right by itself, and the
// first request after it tells of the step.
func TestSteppedClock(t *testing.T) {
	u := running(t)
	const n, step = 8, -5_000_000
	began := time.Now().Add(-30 * time.Minute).UnixMicro()
	v := &visit{
		session: "stepped", rand: rand.New(rand.NewPCG(5, 5)), began: began, best: math.MaxInt64,
		theta: func(x int64) int64 {
			if x < began+4*120_000_000 {
				return 1_000_000
			}
			return 1_000_000 + step
		},
	}
	for k := range int64(n) {
		v.ask(fmt.Sprintf("step-%d", k), began+k*120_000_000+1_000_000, 10_000)
	}
	v.post(t, u, v.asks...)
	for i := range v.asks {
		r := settled(t, u, v.asks[i].id, n)
		require.InDelta(t, v.theta(v.asks[i].start), r.Clock.OffsetUS, float64(r.Clock.UncertaintyUS), v.asks[i].id)
	}
	// Listed too, and once, though the records came in any order.
	require.Eventually(t, func() bool {
		code, b := u.get(t, "/v1/findings?kind=clock_conflict&limit=1000")
		var page findings.Page
		if code != http.StatusOK || json.Unmarshal(b, &page) != nil {
			return false
		}
		var found []string
		for i := range page.Findings {
			for k := range v.asks {
				if page.Findings[i].RequestID == v.asks[k].id {
					found = append(found, v.asks[k].id)
				}
			}
		}
		return len(found) == 1 && found[0] == "step-4"
	}, 2*time.Minute, 100*time.Millisecond)
	r := settled(t, u, "step-4", n)
	require.Len(t, r.Conflicts, 1)
	require.InDelta(t, step, r.Conflicts[0].Evidence[0], float64(r.Conflicts[0].Evidence[1]))
	code, out, _ := u.fermata(t, "request", "step-4")
	require.Zero(t, code)
	require.Contains(t, out, "clock_conflict")
}

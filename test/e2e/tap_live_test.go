package e2e

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/simulate"
)

// ask sends a request to the scripted model behind the tap and calls read after each read of the answer.
func (u *up) ask(t *testing.T, tenant, id, body string, read func()) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.Tap, "/demo/v1/chat/completions"), strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	req.Header.Set("X-Fermata-Tenant", tenant)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for b := make([]byte, 32<<10); ; {
		_, err := resp.Body.Read(b)
		if err != nil {
			return
		}
		read()
	}
}

// TestSteadyStreamsThroughTheTap: nothing is ever said of streams that run well which does not hold when they are over. A busy
// machine can make the model itself pause; such a finding stays.
func TestSteadyStreamsThroughTheTap(t *testing.T) {
	u := running(t)
	const tenant = "live-steady"
	var reading sync.WaitGroup
	for i := range 6 {
		reading.Go(func() {
			for round := range 3 {
				id := "steady-" + string(rune('a'+i)) + "-" + string(rune('0'+round))
				body := `{"model":"demo","stream":true,"max_tokens":220,"messages":[{"role":"user","content":"` + id + `"}]}`
				if i%3 == 2 {
					body = strings.Replace(body, `"stream"`, `"n":2,"stream"`, 1)
				}
				u.ask(t, tenant, id, body, func() {})
			}
		})
	}
	over := make(chan struct{})
	go func() { reading.Wait(); close(over) }()
	seen := map[string]simulate.Found{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-tick.C:
		}
		for _, f := range u.found(t, "tenant="+tenant) {
			seen[f.ID] = f
		}
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		held := map[string]simulate.Found{}
		for _, f := range u.found(c, "tenant="+tenant) {
			held[f.ID] = f
			require.False(c, f.Open, "%+v", f)
		}
		for id, f := range seen {
			require.Contains(c, held, id, "%+v was said and did not hold", f)
		}
	}, time.Minute, 200*time.Millisecond)
	t.Logf("%d findings of pauses that were real", len(seen))
}

// TestLiveStallThroughTheTap: a stall is told within two seconds of crossing its floor, while it lasts; what others had of
// the machine is granted, up to a limit.
func TestLiveStallThroughTheTap(t *testing.T) {
	u := running(t)
	const tenant = "live-tap"
	var last atomic.Int64 // when the client read last
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.ask(t, tenant, "tap-stall", `{"model":"demo-stall","fault_ms":30000,"stream":true,"max_tokens":200,"messages":[{"role":"user","content":"pauses"}]}`,
			func() { last.Store(time.Now().UnixMicro()) })
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	asked := time.Now()
	busy := newMachine(t)
	for {
		select {
		case <-done:
			t.Fatal("the stall was over before it was told")
		case <-tick.C:
		}
		before := asked
		asked = time.Now()
		busy.note()
		for _, f := range u.found(t, "tenant="+tenant+"&kind=stall") {
			silent := before.Sub(time.UnixMicro(last.Load()))
			if !f.Open || silent < 300*time.Millisecond {
				continue
			}
			late := silent - 300*time.Millisecond
			lost := busy.lost(before.Add(-late))
			t.Logf("told at most %s after it crossed the floor, others had %s of that", late, lost)
			require.LessOrEqual(t, late, liveBar+lost)
			return
		}
	}
}

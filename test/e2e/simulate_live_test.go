package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/simulate"
	"github.com/fermata-io/fermata/internal/wire"
)

// found reads GET /v1/findings of a tenant.
func (u *up) found(t require.TestingT, query string) []simulate.Found {
	resp, err := http.Get(url(u.API, "/v1/findings?limit=1000&"+query))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var page struct {
		Findings []simulate.Found `json:"findings"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	return page.Findings
}

// liveBar is how long after it crossed its floor a stall may still be untold.
const liveBar = 2 * time.Second

// TestLiveStall: a silence is told by the API within two seconds of crossing its floor, while it lasts, on the wall clock: what
// others had of the machine is granted, up to a limit. The streams come from `fermata simulate --speed 1`, which sends a segment
// a second as taps do.
func TestLiveStall(t *testing.T) {
	u := running(t)
	begin := time.Now().Add(2 * time.Second).Truncate(time.Second)
	args := []string{
		"simulate", "--speed", "1", "--scenario", "steady", "--faults", "none,stall=1", "--server-only", "--requests", "36", "--rate", "4", "--seed", "3",
		"--tenant", "live-stall", "--start", begin.UTC().Format(time.RFC3339),
	}
	cfg := simulate.NewDefaultConfig()
	cfg.Shares = simulate.Shares{simulate.FaultStall: 1}
	cfg.ServerOnly, cfg.Requests, cfg.Rate, cfg.Seed, cfg.Tenant, cfg.Start, cfg.Segment = true, 36, 4, 3, "live-stall", begin, time.Second
	sim := simulate.New(cfg)
	for _, ok := sim.Next(); ok; _, ok = sim.Next() {
	}
	// Those that last long enough to be seen while they do.
	waiting := map[string]simulate.Truth{}
	for _, x := range sim.Truths() {
		if x.Kind == "stall" && x.DurationUS >= (liveBar+time.Second).Microseconds() {
			waiting[x.RequestID] = x
		}
	}
	require.GreaterOrEqual(t, len(waiting), 5)

	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(cmd.Environ(), "FERMATA_DATA="+u.data)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()

	var late, seen, strict []time.Duration
	busy := newMachine(t)
	until := time.After(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	asked := time.Now()
	for len(waiting) > 0 {
		select {
		case <-until:
			require.Empty(t, waiting, "never told")
		case <-tick.C:
		}
		before := asked // the look at the API in front of this one
		asked = time.Now()
		busy.note()
		answer := u.found(t, "tenant=live-stall&kind=stall")
		read := time.Now()
		for _, f := range answer {
			x, ok := waiting[f.RequestID]
			if !ok || *f.Chunk < x.Chunk-1 || *f.Chunk > x.Chunk+1 {
				continue
			}
			delete(waiting, f.RequestID)
			crossed := time.UnixMicro(x.At).Add(300 * time.Millisecond)
			untold := before.Sub(crossed) // it was told after the look in front of this one
			late = append(late, untold)
			seen = append(seen, read.Sub(crossed))
			lost := busy.lost(crossed)
			strict = append(strict, untold-lost)
			require.LessOrEqual(t, untold, liveBar+lost, "%s, open: %v; others had %s of that", f.RequestID, f.Open, lost)
			if read.Before(time.UnixMicro(x.At + x.DurationUS)) {
				require.True(t, f.Open, "%s was told as over while it lasted", f.RequestID)
			}
		}
	}
	slices.Sort(late)
	slices.Sort(seen)
	t.Logf("%d stalls seen %s to %s after crossing their floor, the middle one %s; untold for %s at most, %s without what others had",
		len(seen), seen[0], seen[len(seen)-1], seen[len(seen)/2], late[len(late)-1], slices.Max(strict))
}

// TestLiveLoop: a running stream's loop is told before its fifth copy is complete, or its third where copies have 200 characters
// or more: as seen by what had been sent when the API first told of it.
func TestLiveLoop(t *testing.T) {
	u := running(t)
	cfg := simulate.NewDefaultConfig()
	cfg.Shares = simulate.Shares{simulate.FaultLoop: 1}
	cfg.ServerOnly, cfg.Requests, cfg.Seed, cfg.Tenant, cfg.Start = true, 40, 9, "live-loop", time.Now().Add(-20*time.Minute)
	sim := simulate.New(cfg)
	streams := map[string]*wire.Stream{}
	for rec, ok := sim.Next(); ok; rec, ok = sim.Next() {
		if rec.Stream != nil {
			streams[rec.Stream.RequestID] = rec.Stream
		}
	}
	var open []*playing
	short, long := 0, 0
	for _, x := range sim.Truths() {
		// What is shorter is told after 60 characters, and counters after one copy more; see docs/detection.md.
		if x.Kind != "loop" || x.Match != "exact" || x.PeriodChars < 24 || x.PeriodChars < 200 && short == 9 {
			continue
		}
		p := &playing{Stream: streams[x.RequestID], loop: x, most: 5}
		if x.PeriodChars >= 200 {
			p.most = 3
			long++
		} else {
			short++
		}
		open = append(open, p)
	}
	require.Greater(t, short, 5)
	require.Greater(t, long, 5)
	for len(open) > 0 {
		var body []byte
		for _, p := range open {
			body = p.next(t, body)
		}
		code, answer := u.post(t, "/v1/chunks", "application/x-ndjson", body)
		require.Equal(t, http.StatusOK, code, "%s", answer)
		u.stored(t, open[0].Stream, open[0].sent) // and with it the others, which came in one body
		told := map[string]simulate.Found{}
		for _, f := range u.found(t, "tenant=live-loop&kind=loop") {
			told[f.RequestID] = f
		}
		open = slices.DeleteFunc(open, func(p *playing) bool {
			f, ok := told[p.RequestID]
			if !ok {
				require.Less(t, p.copies(), float64(p.most), "%s, period %d: not told after %.2f copies", p.RequestID, p.loop.PeriodChars, p.copies())
				return false
			}
			t.Logf("%s: period %d, told after %.2f copies", p.RequestID, p.loop.PeriodChars, p.copies())
			require.True(t, f.Open)
			require.LessOrEqual(t, p.copies(), float64(p.most), "%s, period %d: told after %.2f copies", p.RequestID, p.loop.PeriodChars, p.copies())
			return true
		})
	}
}

// playing is a stream that is sent in small segments.
type playing struct {
	*wire.Stream
	loop        simulate.Truth
	most        int // copies
	sent, chars int // chunks, and characters of the loop's channel
	seq         uint32
}

// copies is how many copies of the loop have been sent.
func (p *playing) copies() float64 {
	return float64(p.chars-p.loop.StartChar) / float64(p.loop.PeriodChars)
}

// next appends the next segment: at first all up to the loop's second copy, then an eighth of a copy at a time, or less of a long one.
func (p *playing) next(t *testing.T, body []byte) []byte {
	c, kind := &p.Chunks, wire.KindContent
	if p.loop.Channel == "reasoning" {
		kind = wire.KindReasoning
	}
	next, goal := p.sent, max(p.loop.StartChar+2*p.loop.PeriodChars, p.chars+p.loop.PeriodChars*p.most/40)
	for next < len(c.T) && p.chars < goal {
		if c.KindAt(next) == kind {
			p.chars += len([]rune(c.Text[next]))
		}
		next++
	}
	require.Less(t, next, len(c.T), "the loop of %s was never told", p.RequestID)
	g := *p.Stream
	g.Seq, g.Final, g.FinishReason, g.EndUS = p.seq, false, "", wire.Opt[int64]{}
	g.Chunks = wire.Chunks{T: c.T[p.sent:next], Bytes: c.Bytes[p.sent:next], Kind: c.Kind[p.sent:next], Text: c.Text[p.sent:next]}
	p.sent, p.seq = next, p.seq+1
	return append(wire.AppendStreamJSON(body, &g), '\n')
}

// stored waits until the API shows n chunks of a stream's server tier.
func (u *up) stored(t *testing.T, s *wire.Stream, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		code, b := u.get(t, "/v1/requests/"+s.RequestID+"?tenant="+s.Tenant)
		if code != http.StatusOK {
			return false
		}
		var r struct {
			Attempts []struct {
				Server struct {
					N int `json:"n_chunks"`
				} `json:"server"`
			} `json:"attempts"`
		}
		return json.Unmarshal(b, &r) == nil && len(r.Attempts) > 0 && r.Attempts[0].Server.N >= n
	}, 2*time.Minute, 20*time.Millisecond)
}

package simulate_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/simulate"
	"github.com/fermata-io/fermata/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(scenario string, requests int) simulate.Config {
	c := simulate.NewDefaultConfig()
	c.Shares, _ = simulate.ScenarioShares(scenario)
	c.Requests = requests
	return c
}

// play makes all traffic and returns its records and truths.
func play(c simulate.Config) ([]simulate.Record, []simulate.Truth) {
	s := simulate.New(c)
	var out []simulate.Record
	for rec, ok := s.Next(); ok; rec, ok = s.Next() {
		out = append(out, rec)
	}
	return out, s.Truths()
}

func digest(t *testing.T, recs []simulate.Record, truths []simulate.Truth) string {
	h := sha256.New()
	for _, r := range recs {
		switch {
		case r.Stream != nil:
			h.Write(wire.AppendStreamJSON(nil, r.Stream))
		case r.Gateway != nil:
			h.Write(wire.AppendGatewayJSON(nil, r.Gateway))
		default:
			h.Write(wire.AppendClientJSON(nil, r.Client))
		}
	}
	require.NoError(t, json.NewEncoder(h).Encode(truths))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// The same configuration makes the same traffic, another seed another one; requests of different traffic have different ids.
func TestSameSeedSameTraffic(t *testing.T) {
	for _, scenario := range simulate.Scenarios() {
		a, b := config(scenario, 80), config(scenario, 80)
		require.Equal(t, digest2(t, a), digest2(t, b), scenario)
		b.Seed = 2
		require.NotEqual(t, digest2(t, a), digest2(t, b), scenario)
		b = a
		b.Start = b.Start.Add(time.Second)
		require.NotEqual(t, a.Prefix(), b.Prefix())
	}
}

func digest2(t *testing.T, c simulate.Config) string {
	recs, truths := play(c)
	return digest(t, recs, truths)
}

// Records are valid, come in the order of sending, and say nothing of what a request's end shows before it.
func TestRecords(t *testing.T) {
	c := config("mixed", 300)
	c.Segment = time.Second
	recs, truths := play(c)
	require.NotEmpty(t, truths)
	now := c.Start.Add(2 * time.Hour)
	last := int64(0)
	finals := map[string]int{}
	kinds := map[string]bool{}
	for _, r := range recs {
		require.GreaterOrEqual(t, r.At, last)
		last = r.At
		switch {
		case r.Stream != nil:
			require.NoError(t, r.Stream.Validate(now, wire.NewDefaultLimits()))
			if !r.Stream.Final {
				require.Empty(t, r.Stream.FinishReason)
				require.False(t, r.Stream.EndUS.OK)
			} else {
				finals[fmt.Sprint(r.Stream.RequestID, r.Stream.Tier, r.Stream.StartedAt)]++
			}
		case r.Gateway != nil:
			require.NoError(t, r.Gateway.Validate(now, wire.NewDefaultLimits()))
		default:
			require.NoError(t, r.Client.Validate(now, wire.NewDefaultLimits()))
		}
	}
	for k, n := range finals {
		require.Equal(t, 1, n, k)
	}
	for _, x := range truths {
		kinds[x.Kind] = true
		if x.RequestID != "" {
			require.True(t, strings.HasPrefix(x.RequestID, c.Prefix()))
		}
	}
	for _, k := range []string{"stall", "loop", "buffering", "perceived_gap", "render_lag", "dead_stream"} {
		require.True(t, kinds[k], k)
	}
}

// Segments are cut in another way and say the same as whole streams.
func TestSegmentsAreTheWholeStream(t *testing.T) {
	type id struct {
		request string
		tier    wire.Tier
		start   int64
	}
	collect := func(segment time.Duration) map[id][]int64 {
		c := config("stalls", 40)
		c.Segment = segment
		out := map[id][]int64{}
		recs, _ := play(c)
		for _, r := range recs {
			if s := r.Stream; s != nil {
				k := id{s.RequestID[strings.LastIndexByte(s.RequestID, '-'):], s.Tier, s.StartedAt}
				out[k] = append(out[k], s.Chunks.T...)
			}
		}
		return out
	}
	require.Equal(t, collect(0), collect(700*time.Millisecond))
}

func TestSteadyTrafficHasNoTruth(t *testing.T) {
	_, truths := play(config("steady", 400))
	require.Empty(t, truths)
}

// No paragraph of the words that are not labelled occurs twice.
func TestNoParagraphTwice(t *testing.T) {
	recs, truths := play(config("stalls", 150))
	for _, x := range truths {
		require.NotEqual(t, "loop", x.Kind)
	}
	seen := map[string]string{}
	for _, r := range recs {
		if r.Stream == nil || r.Stream.Tier != wire.TierServer {
			continue
		}
		for _, p := range strings.Split(strings.Join(r.Stream.Chunks.Text, ""), "\n\n") {
			if len([]rune(p)) < 120 {
				continue
			}
			require.NotContains(t, seen, p)
			seen[p] = r.Stream.RequestID
		}
	}
	require.Greater(t, len(seen), 300)
}

func TestShares(t *testing.T) {
	s := simulate.Shares{simulate.FaultDead: 0.5}
	require.NoError(t, s.Parse("none, stall=0.25,loop=0"))
	require.Equal(t, simulate.Shares{simulate.FaultStall: 0.25, simulate.FaultLoop: 0}, s)
	require.ErrorContains(t, s.Parse("stal=0.1"), `"stal" is no fault`)
	require.ErrorContains(t, s.Parse("stall=2"), "want 0 to 1")
	for _, name := range simulate.Scenarios() {
		c := config(name, 10)
		require.NoError(t, c.Validate(), name)
	}
	c := config("steady", 0)
	c.Rate, c.Duration, c.Segment, c.Tenant = 0, -1, time.Millisecond, "a b"
	c.Shares[simulate.FaultStall] = 2
	err := c.Validate()
	for _, want := range []string{"requests:", "rate:", "duration:", "segment:", "tenant:", "faults:"} {
		require.ErrorContains(t, err, want)
	}
}

func chunk(n int64) *int64 { return &n }

// Truths and findings are paired one to one, the nearest first; what is left is missed or false.
func TestCompare(t *testing.T) {
	truth := func(id, kind string, at int64) simulate.Truth {
		return simulate.Truth{RequestID: id, Kind: kind, Tier: "server", Channel: "content", Chunk: at, StartUS: at * 1000, DurationUS: 500, SlackChunks: 1, Attribution: "engine"}
	}
	found := func(id, kind string, at int64) simulate.Found {
		return simulate.Found{RequestID: id, Kind: kind, Tier: "server", Channel: "content", Chunk: chunk(at), StartUS: at * 1000, DurationUS: 500, Attribution: "engine"}
	}
	s := simulate.Compare(
		[]simulate.Truth{truth("sim-1-a-1", "stall", 10), truth("sim-1-a-1", "stall", 50), truth("sim-1-a-2", "loop", 7)},
		[]simulate.Found{found("sim-1-a-1", "stall", 11), found("sim-1-a-1", "stall", 10), found("sim-1-a-2", "loop", 90), found("real", "stall", 1)},
		"sim-1-a-")
	stall, loop := s.Of("stall"), s.Of("loop")
	require.Equal(t, simulate.Count{Kind: "stall", Truths: 2, Findings: 2, Right: 1, Missed: 1, False: 1, Placed: 1, Measured: 1, Precision: .5, Recall: .5, Attributed: 1, Judged: 1}, stall)
	require.Equal(t, 1, loop.Right)
	require.Zero(t, loop.Placed, "found, but somewhere else")
	require.True(t, slices.ContainsFunc(s.Disagreements, func(d simulate.Disagreement) bool { return d.What == "misplaced" && d.Kind == "loop" }))
	require.Len(t, s.Only([]string{"loop"}).Kinds, 1)
	require.Equal(t, 1.0, s.Of("buffering").Recall)
}

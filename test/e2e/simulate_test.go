package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/simulate"
)

// simulated is a scenario that is played and scored, and the kinds of finding whose score is a promise.
type simulated struct {
	scenario string
	requests int
	bars     map[string]bar
	none     bool // nothing may be found
}

// bar is the least precision, recall and share of right places.
type bar struct{ precision, recall, placed float64 }

var simulations = []simulated{
	{scenario: "steady", requests: 800, none: true},
	{scenario: "stalls", requests: 1500, bars: map[string]bar{
		"stall": {.99, .99, .99}, "slow_episode": {.97, .97, .97}, "dead_stream": {.99, .99, .99}, "slow_start": {1, 1, 1},
	}},
	{scenario: "loops", requests: 1000, bars: map[string]bar{"loop": {.99, .98, .97}}},
	{scenario: "client", requests: 1200, bars: map[string]bar{
		"stall": {.99, .99, .99}, "buffering": {.97, .97, .97}, "render_lag": {.97, .97, .97}, "cancel_waste": {.97, .97, .97}, "idle_drop": {.99, .99, .99},
		"clock_conflict": {.99, .99, .99}, "id_conflict": {1, 1, 1}, "perceived_gap": {.97, .97, .97}, "retraction": {1, 1, 1}, "dead_stream": {.99, .99, .99},
	}},
	{scenario: "incident", requests: 600, bars: map[string]bar{"stall": {.99, .99, .99}, "slow_start": {.99, .99, .99}}},
	{scenario: "deploy", requests: 800, bars: map[string]bar{"texture_shift": {1, 1, 1}, "stall": {.99, .99, .99}}},
}

// TestSimulatedTraffic plays labelled traffic to the real endpoints and scores what GET /v1/findings tells of it. The bars are
// those of the project: stalls 0.99 and 0.99 with the start within one chunk, loops 0.99 and 0.98, nothing in steady traffic.
func TestSimulatedTraffic(t *testing.T) {
	u := running(t)
	var table strings.Builder
	table.WriteString("| scenario | kind | true | found | precision | recall | place right | length, grade right |\n|---|---|---|---|---|---|---|---|\n")
	for _, sim := range simulations {
		s := u.simulate(t, "--scenario", sim.scenario, "--requests", fmt.Sprint(sim.requests), "--seed", "11")
		if sim.none {
			require.Empty(t, s.Kinds, "%+v", s.Disagreements)
			fmt.Fprintf(&table, "| %s, %d requests | nothing | 0 | 0 | – | – | – | – |\n", sim.scenario, sim.requests)
		}
		for _, k := range s.Kinds {
			placed, measured := "–", "–"
			if k.Right > 0 {
				placed, measured = fmt.Sprintf("%.3f", float64(k.Placed)/float64(k.Right)), fmt.Sprintf("%.3f", float64(k.Measured)/float64(k.Right))
			}
			fmt.Fprintf(&table, "| %s, %d requests | %s | %d | %d | %.3f | %.3f | %s | %s |\n", sim.scenario, sim.requests, k.Kind, k.Truths, k.Findings, k.Precision, k.Recall, placed, measured)
			for _, d := range s.Only([]string{k.Kind}).Disagreements {
				if d.What == "mismeasured" {
					t.Logf("%s %s %s %s chunk %d (%s): %s", sim.scenario, d.Kind, d.Tier, d.RequestID, d.Chunk, d.Cause, d.Detail)
				}
			}
		}
		t.Run(sim.scenario, func(t *testing.T) {
			for kind, b := range sim.bars {
				k := s.Of(kind)
				require.Positive(t, k.Truths, "no %s was made", kind)
				require.GreaterOrEqual(t, k.Precision, b.precision, "%s: %+v", kind, s.Only([]string{kind}).Disagreements)
				require.GreaterOrEqual(t, k.Recall, b.recall, "%s: %+v", kind, s.Only([]string{kind}).Disagreements)
				require.GreaterOrEqual(t, float64(k.Placed), b.placed*float64(k.Right), "%s: %+v", kind, s.Only([]string{kind}).Disagreements)
				require.GreaterOrEqual(t, float64(k.Measured), .98*float64(k.Right), "%s: %+v", kind, s.Only([]string{kind}).Disagreements)
			}
		})
	}
	if *update {
		require.NoError(t, writeSimulated("../../docs/detection.md", table.String()))
	}
}

// simulate runs `fermata simulate --score --json` in a tenant of its own and returns the score.
func (u *up) simulate(t *testing.T, args ...string) *simulate.Score {
	t.Helper()
	tenant := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "-" + args[1]
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"simulate", "--score", "--json", "--wait", "3m", "--tenant", tenant}, args...)...)
	cmd.Env = append(os.Environ(), "FERMATA_DATA="+u.data)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &errOut)
	var s simulate.Score
	require.NoError(t, json.Unmarshal(out, &s))
	return &s
}

// Sending the same traffic again changes nothing, and what is scored later from the options is the same.
func TestSimulatedTrafficTwice(t *testing.T) {
	u := running(t)
	args := []string{
		"--scenario", "mixed", "--requests", "120", "--seed", "5", "--start", "2026-03-01T12:00:00Z", "--tenant", "twice",
	}
	code, out, errOut := u.fermata(t, append([]string{"simulate", "--score", "--json"}, args...)...)
	require.Equal(t, 0, code, "%s%s", out, errOut)
	code, again, errOut := u.fermata(t, append([]string{"simulate", "--score", "--json"}, args...)...)
	require.Equal(t, 0, code, "%s%s", again, errOut)
	require.Equal(t, out, again)
	code, later, errOut := u.fermata(t, append([]string{"simulate", "score", "--json"}, args...)...)
	require.Equal(t, 0, code, "%s%s", later, errOut)
	require.Equal(t, out, later)
	code, _, errOut = u.fermata(t, append([]string{"simulate", "score", "--faults", "stall=0.3", "--min-recall", "0.9", "--wait", "1s"}, args...)...)
	require.Equal(t, 1, code, "other traffic was never sent")
	require.Contains(t, errOut, "less than --min-recall 0.9")
}

// writeSimulated replaces the table of scores in a document.
func writeSimulated(path, table string) error {
	const from, until = "<!-- simulated: written by go test ./test/e2e -run TestSimulatedTraffic -update -->\n", "<!-- end of simulated -->"
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, until)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for the table of simulated traffic", path)
	}
	return os.WriteFile(path, []byte(head+from+table+until+tail), 0o644)
}

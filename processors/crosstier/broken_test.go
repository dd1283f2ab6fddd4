package crosstier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
)

// TestBrokenBy: a page's stream that broke because the engine stopped without a word is the engine's dead stream alone; one that
// broke while the engine went on is the network's.
func TestBrokenBy(t *testing.T) {
	times := func(n int, from int64) wire.Chunks {
		var c wire.Chunks
		for i := range n {
			c.T, c.Bytes, c.Kind = append(c.T, from+int64(i)*20_000), append(c.Bytes, 4), append(c.Kind, wire.KindContent)
		}
		return c
	}
	ask := func(serverChunks int, found ...wire.Finding) []string {
		r := &crosstier.Request{
			Tenant: wire.DefaultTenant, RequestID: "r", Attempt: 1, Found: found,
			Server: &wire.Stream{Tier: wire.TierServer, Attempt: 1, Final: true, StartedAt: base, Chunks: times(serverChunks, 100_000)},
			Client: &wire.Client{
				SessionID: "s", TimeOrigin: base, Submit: wire.Some[int64](0), RequestSent: wire.Some[int64](0), Recv: times(50, 110_000),
				ErrorType: "network_error", Closed: wire.Some[int64](110_000 + 50*20_000), Final: true,
			},
		}
		var kinds []string
		cfg := crosstier.NewDefaultConfig()
		got, _ := crosstier.Derive(r, &cfg)
		for _, f := range got {
			kinds = append(kinds, string(f.Kind)+" "+f.Attribution)
		}
		return kinds
	}
	dead := wire.Finding{Kind: wire.FindingDeadStream, Tier: wire.TierServer}
	require.Empty(t, ask(50, dead))
	require.Equal(t, []string{"dead_stream network"}, ask(50))
	require.Equal(t, []string{"dead_stream network"}, ask(300, dead), "the engine stopped long after the page's stream broke")
}

// TestWasteOfTheCallThatRuns: a gateway that doesn't say when it let go of the engine says so by the end of the call that served,
// not by that of one before.
func TestWasteOfTheCallThatRuns(t *testing.T) {
	const second = 1_000_000
	waste := func(served int64) []string {
		r := &crosstier.Request{
			Tenant: wire.DefaultTenant, RequestID: "r", Attempt: 2,
			Gateway: &wire.Gateway{
				ReceivedAt: base, UpstreamSentAt: base + 2*second, CancelledAt: base + 20*second,
				Attempts: []wire.Attempt{
					{Attempt: 1, Start: base, End: base + second, Status: 500}, {Attempt: 2, Start: base + 2*second, End: served, Served: true},
				},
			},
			Server: &wire.Stream{Tier: wire.TierServer, Attempt: 2, Final: true, StartedAt: base + 2*second, FinishReason: "stop"},
		}
		c := &r.Server.Chunks
		for i := range int64(290) {
			c.T, c.Bytes, c.Kind = append(c.T, i*100_000), append(c.Bytes, 4), append(c.Kind, wire.KindContent)
		}
		cfg := crosstier.NewDefaultConfig()
		got, _ := crosstier.Derive(r, &cfg)
		var out []string
		for _, f := range got {
			out = append(out, fmt.Sprint(f.Kind, " ", f.Tier, " ", f.Attribution, " ", f.StartUS/second))
		}
		return out
	}
	require.Equal(t, []string{"cancel_waste gateway unknown 20"}, waste(0))
	require.Equal(t, []string{"cancel_waste server engine 18"}, waste(base+20*second+second/10))
	require.Equal(t, []string{"cancel_waste gateway gateway 20"}, waste(base+30*second))
}

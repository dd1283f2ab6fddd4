package e2e

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// right is the right answer of a case in words and as a check.
type right struct {
	text string
	ask  func(a *answer)
}

func nothing(a *answer) { a.exactly("r1") }

// loop checks a loop that runs to the end.
func loop(channel string, start, period, repeats int) func(a *answer) {
	return func(a *answer) {
		a.exactly("r1", want{kind: "loop", tier: "server", channel: channel, chunk: int64(start), evidence: map[string]any{
			"period_chars": period, "repeats": repeats, "to_end": true, "hit_limit": true,
		}})
	}
}

// ttft checks a server's time to its first token, and that the request shows what the times alone show.
func ttft(ms float64, wants ...want) func(a *answer) {
	return func(a *answer) {
		a.exactly("r1", wants...)
		a.us("TTFT", a.server("r1").TTFTUS, ms)
	}
}

func slowStart(ms float64) want { return want{kind: "slow_start", durMS: ms} }

// perToken checks the time per token after the first chunk.
func (a *answer) perToken(s *requests.Stream, first, tokens int64, ms float64) {
	if s.TTFTUS == nil || s.LastUS == nil || s.Tokens == nil {
		a.check(false, "times or tokens are not known")
		return
	}
	a.check(*s.Tokens == tokens, "tokens are %d, want %d", *s.Tokens, tokens)
	got := float64(*s.LastUS-*s.TTFTUS) / 1000 / float64(*s.Tokens-first)
	a.say("%d tokens, %.2f ms per token", *s.Tokens, got)
	a.check(math.Abs(got-ms) < 0.1, "time per token is %.2f ms, want %.2f", got, ms)
}

var rightAnswers = map[string]right{
	"S01": {"three stalls of 7.4 s that are one event; the newcomer has a slow first token and no stall", func(a *answer) {
		for id, chunk := range map[string]int64{"r-a": 381, "r-b": 276, "r-c": 121} {
			for _, f := range a.exactly(id, want{kind: "stall", grade: "freeze", tier: "server", cause: "engine", chunk: chunk, durMS: 7400}) {
				var ev struct {
					Event struct {
						FromUS   int64    `json:"from_us"`
						UntilUS  int64    `json:"until_us"`
						Requests []string `json:"requests"`
						Waiting  []string `json:"waiting"`
					} `json:"event"`
				}
				_ = json.Unmarshal(f.Evidence, &ev)
				e := ev.Event
				a.check(strings.Join(e.Requests, " ") == "r-a r-b r-c" && strings.Join(e.Waiting, " ") == "r-d", "%s: event of %v, waiting %v", id, e.Requests, e.Waiting)
				a.check(math.Abs(float64(e.FromUS-a.p.base-4_000_000)) < 20_000 && math.Abs(float64(e.UntilUS-a.p.base-11_400_000)) < 20_000,
					"%s: event from %d to %d", id, e.FromUS-a.p.base, e.UntilUS-a.p.base)
			}
		}
		a.exactly("r-d", slowStart(7397))
		a.say("one event of r-a, r-b, r-c with r-d waiting")
	}},
	"S02": {"five gaps of 3.2 s before chunks 61–65 are one episode of 16.0 s", func(a *answer) {
		a.exactly("r1", want{kind: "stall", grade: "stall", tier: "server", chunk: 61, durMS: 16_000, evidence: map[string]any{
			"gaps": 5, "first_chunk": 61, "last_chunk": 65, "longest_us": 3_200_000,
		}})
	}},
	"S06": {"open stall after chunk 4, at least 179 s, without an end", func(a *answer) {
		for _, f := range a.exactly("r1", want{kind: "stall", grade: "freeze", tier: "server", chunk: 5, startMS: 940, open: true}) {
			a.check(f.DurationUS >= 179_060_000, "lasts %d µs", f.DurationUS)
		}
		s := a.server("r1")
		a.check(s.State == requests.StateRunning && s.FinishReason == nil, "state %s", s.State)
	}},
	"S07": {"slow throughout (median about 0.9 s), aborted by the client; no single stall", func(a *answer) {
		nothing(a)
		s := a.server("r1")
		a.us("TTFT", s.TTFTUS, 1350)
		a.check(s.State == requests.StateAborted, "state is %s", s.State)
		a.check(s.P50GapUS != nil && math.Abs(float64(*s.P50GapUS)-900_000) < 130_000, "median gap %v", val(s.P50GapUS))
		a.say("state aborted, median gap %.2f s", float64(*s.P50GapUS)/1e6)
	}},
	"S09": {"server never pauses; silence of about 38 s at the client after chunk 39, between server and client (gateway hold-back)", func(a *answer) {
		a.exactly("r1", want{kind: "stall", grade: "freeze", tier: "client", cause: "gateway", chunk: 40, durMS: 37_900, within: 200})
	}},
	"S11": {"six pauses of 1.05 s, one every 46 chunks", func(a *answer) {
		var ws []want
		for i := range 6 {
			w := want{kind: "stall", grade: "stall", tier: "server", chunk: int64(46 * (i + 1)), durMS: 1050}
			if i > 1 {
				w.evidence = map[string]any{"every_chunks": 46}
			}
			ws = append(ws, w)
		}
		a.exactly("r1", ws...)
	}},
	"S13": {"no stall: slow but even", nothing},
	"S15": {"one gap of 760 ms before chunk 331", func(a *answer) {
		a.exactly("r1", want{kind: "stall", grade: "hitch", tier: "server", chunk: 331, durMS: 760})
	}},

	"B01": {"buffering between server and client, about 16 KB, driven by size: bursts of 66, 65, 65 and 4 chunks; no stall", func(a *answer) {
		a.exactly("r1", want{kind: "buffering", tier: "client", cause: "proxy_buffering", evidence: map[string]any{
			"driver": "size", "chunks_per_release": "[66 65 65 4]", "bytes_per_release": 16_400,
		}})
		r := a.p.request(a.t, "r1")
		a.us("server TTFT", a.server("r1").TTFTUS, 400)
		a.us("client TTFT", r.Client.TTFTUS, 13_400)
	}},
	"B03": {"the whole response held to the end: server TTFT 610 ms, user's about 8.4 s; server blameless", func(a *answer) {
		a.exactly("r1", want{kind: "buffering", tier: "client", cause: "proxy_buffering", evidence: map[string]any{"driver": "end"}})
		a.us("server TTFT", a.server("r1").TTFTUS, 610)
		a.us("client TTFT", a.p.request(a.t, "r1").Client.TTFTUS, 8413)
	}},
	"B07": {"dropped at an idle limit of 60 s, not by the user, not a server stall; 701 tokens and 31.3 s wasted", func(a *answer) {
		a.exactly("r1", slowStart(74_500), want{kind: "idle_drop", tier: "client", durMS: 60_004, evidence: map[string]any{
			"limit_us": 60_000_000, "upstream_alive": true, "waste_tokens": 701, "waste_us": 31_300_000, "received_bytes": 0,
		}})
	}},
	"B08": {"dropped at an idle limit of about 100 s though the upstream was alive: ten pings not forwarded", func(a *answer) {
		a.exactly("r1", slowStart(128_000), want{kind: "idle_drop", tier: "client", cause: "gateway", durMS: 100_010, evidence: map[string]any{
			"limit_us": 100_000_000, "upstream_alive": true, "pings_upstream": 10, "pings_received": 0,
		}})
	}},

	"T01": {"TTFT 2210 ms", ttft(2210, slowStart(2210))},
	"T03": {"TTFT 5170 ms, 9 ms per token over the last 80", func(a *answer) {
		ttft(5170, slowStart(5170))(a)
		a.perToken(a.server("r1"), 310, 390, 9)
	}},
	"T04": {"TTFT absent, no token, neither stall nor loop nor error", func(a *answer) {
		nothing(a)
		s := a.server("r1")
		a.check(s.TTFTUS == nil && s.TTFAUS == nil && s.NContent == 0 && s.State == requests.StateCompleted && s.Error == nil, "TTFT %v, %d content chunks", val(s.TTFTUS), s.NContent)
	}},
	"T06": {"TTFT 3400 ms; 71 tokens; one malformed frame", func(a *answer) {
		ttft(3400, slowStart(3400))(a)
		s := a.server("r1")
		a.check(s.NContent == 71 && strings.Count(strings.Join(s.Chunks.Kind, " "), wire.KindError.String()) == 1, "%d content chunks", s.NContent)
	}},
	"T08": {"impossible order: a fault of the trace; the user's TTFT is 2.9 s", func(a *answer) {
		a.exactly("r1", want{kind: "clock_conflict", tier: "server", evidence: map[string]any{"rule": "impossible_order", "server_ttft_us": 12_400_000, "user_first_text_us": 2_900_000}})
		a.us("perceived TTFT", a.p.request(a.t, "r1").Perceived.TTFTUS, 2900)
	}},
	"T09": {"TTFT 330 ms", ttft(330)},
	"D01": {"9 ms per chunk, about 3.5 ms per token", func(a *answer) {
		nothing(a)
		s := a.server("r1")
		a.check(s.P50GapUS != nil && math.Abs(float64(*s.P50GapUS)-9000) < 200, "median gap %v", val(s.P50GapUS))
		a.perToken(s, 1, 520, 3.45)
	}},
	"D04": {"15 ms per token", func(a *answer) {
		nothing(a)
		a.perToken(a.server("r1"), 8, 68, 15)
	}},

	"L01": {"loop of one character from chunk 63, 900 repeats", loop("content", 63, 1, 900)},
	"L02": {"loop of one word from chunk 150, 800 repeats", loop("content", 150, 8, 800)},
	"L03": {"loop of one sentence from chunk 200, 90 repeats", loop("content", 200, 53, 90)},
	"L04": {"loop of a paragraph of 68 characters, 14 repeats", loop("content", 23, 68, 14)},
	"L05": {"loop of 2 characters from chunk 12, 600 repeats", loop("content", 12, 2, 600)},
	"L09": {"loop of 6 characters from chunk 40, 300 repeats", loop("content", 40, 6, 300)},
	"L11": {"near-repeat but for a counter, 44–45 characters, from chunk 60, 120 repeats", loop("content", 60, 44, 120)},
	"L14": {"loop of one object from chunk 14, 110 repeats", loop("content", 14, 42, 110)},
	"L19": {"loop of one line from chunk 20, 150 repeats", loop("content", 20, 40, 150)},
	"L20": {"loop of two code lines from chunk 7, 140 repeats", loop("content", 7, 56, 140)},
	"L21": {"loop of two letters from chunk 15, 420 repeats", loop("content", 15, 2, 420)},
	"L22": {"loop in the tool channel from chunk 4, 200 repeats", loop("tool", 4, 11, 200)},
	"N01": {"no loop", nothing}, "N02": {"no loop", nothing}, "N04": {"no loop", nothing}, "N05": {"no loop", nothing},
	"N09": {"no loop", nothing}, "N13": {"no loop", nothing}, "N15": {"no loop", nothing}, "N16": {"no loop", nothing},

	"R01": {"two streams under one id, kept apart; the id is ambiguous", func(a *answer) {
		a.exactly("id-7", want{kind: "id_conflict", evidence: map[string]any{"streams": 2}})
		r := a.p.request(a.t, "id-7")
		a.check(len(r.Attempts) == 1 && len(r.Attempts[0].OtherStreams) == 1, "%d attempts", len(r.Attempts))
		for _, s := range append(r.Attempts[0].OtherStreams, *r.Attempts[0].Server) {
			a.check(s.NContent == 201 && val(s.P50GapUS) == int64(20_000), "%d chunks, median gap %v", s.NContent, val(s.P50GapUS))
		}
		a.say("2 streams of 201 chunks each")
	}},
	"R03": {"one request, counted once", func(a *answer) {
		nothing(a)
		r := a.p.request(a.t, "r1")
		a.check(len(r.Attempts) == 1 && len(r.Attempts[0].OtherStreams) == 0 && len(r.Conflicts) == 0, "%d attempts, %d conflicts", len(r.Attempts), len(r.Conflicts))
		a.listed(1, 0)
	}},
	"R05": {"the beacon without an id is counted as such and joins none of the five candidates", func(a *answer) {
		metrics, err := http.Get(a.p.pages.metrics)
		if err != nil {
			a.check(false, "%v", err)
			return
		}
		defer func() { _ = metrics.Body.Close() }()
		b, err := io.ReadAll(metrics.Body)
		n := ""
		for line := range strings.Lines(string(b)) {
			if name, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "fermata_rum_unjoined") {
				n = v
			}
		}
		a.check(err == nil && n != "" && n != "0", "fermata_rum_unjoined is %q", n)
		a.say("counted as unjoined")

		for _, id := range []string{"s0", "s1", "s2", "s3", "s4"} {
			a.exactly(id)
			a.check(a.p.request(a.t, id).Client == nil, "%s has a client", id)
		}
		a.listed(5, 0)
	}},

	"K02": {"durations hold (900 / 4200 ms); joined by id; not shown last week", func(a *answer) {
		for _, f := range a.exactly("r1", want{kind: "clock_conflict", tier: "client", evidence: map[string]any{"behind_us": 603_612_000_000}}) {
			a.check(f.At() > a.p.base-60_000_000, "shown at %d", f.At())
		}
		r := a.p.request(a.t, "r1")
		a.us("perceived TTFT", r.Perceived.TTFTUS, 900)
		a.us("client end", r.Client.EndUS, 4200)
		a.listed(1, 1)
	}},
	"K05": {"joined by id; skew of 95 s, about 150 ms each way left over", func(a *answer) {
		nothing(a)
		r := a.p.request(a.t, "r1")
		a.us("perceived TTFT", r.Perceived.TTFTUS, 1030)
		if r.Clock == nil {
			a.check(false, "no clock")
			return
		}
		a.check(math.Abs(float64(r.Clock.OffsetUS+95_000_000)) < 5000 && math.Abs(float64(r.Clock.UncertaintyUS-150_000)) < 5000, "offset %d ± %d", r.Clock.OffsetUS, r.Clock.UncertaintyUS)
		a.say("offset %.3f s ± %d ms", float64(r.Clock.OffsetUS)/1e6, r.Clock.UncertaintyUS/1000)
	}},
	"V01": {"no stall for the user: the gaps lie in the hidden window", nothing},
	"V03": {"no render lag, no stall: the paint gap lies in the hidden window", nothing},
	"P01": {"render lag: a freeze of 8.7 s from 6.0 s, page visible, network even", func(a *answer) {
		a.exactly("r1", want{kind: "render_lag", tier: "client", cause: "render", startMS: 6000, durMS: 8700, evidence: map[string]any{"pattern": "freeze"}})
	}},
	"P03": {"render lag: 60 of 400 chunks shown, about 57 s behind when closed", func(a *answer) {
		a.exactly("r1", want{kind: "render_lag", tier: "client", cause: "render", durMS: 57_000, within: 200, evidence: map[string]any{
			"pattern": "typing", "shown_chunks": 60, "received_chunks": 400,
		}})
	}},
	"W01": {"the third beacon is known to be lost; the first two are joined", func(a *answer) {
		nothing(a)
		c := a.p.request(a.t, "r1").Client
		a.check(c != nil && c.Segments == 3 && val(c.LostBeacons) == int64(1) && c.NChunks == 400, "%d segments, lost %v, %d chunks", c.Segments, val(c.LostBeacons), c.NChunks)
		a.say("2 parts joined, 1 beacon lost")
	}},
	"W03": {"perceived side unknown: not fine, not aborted", func(a *answer) {
		nothing(a)
		r := a.p.request(a.t, "r1")
		a.check(r.Client == nil && r.Perceived.TTFTUS == nil && r.State == requests.StateCompleted, "state %s", r.State)
		a.say("client null, perceived null")
	}},

	"A01": {"43.4 s and 1735 of 2000 tokens after the abort", func(a *answer) {
		a.exactly("r1", want{kind: "cancel_waste", tier: "server", durMS: 43_376, evidence: map[string]any{"waste_tokens": 1735, "tokens": 2000}})
		a.check(a.p.request(a.t, "r1").Client.State == requests.StateAborted, "client not aborted")
	}},
	"A02": {"38.2 s of waste; finish=length after the client had gone", func(a *answer) {
		a.exactly("r1", want{kind: "cancel_waste", tier: "server", durMS: 38_241, evidence: map[string]any{"finish_reason": "length"}})
	}},
	"A03": {"17.7 s of waste at the gateway's leg", func(a *answer) {
		a.exactly("r1", want{kind: "cancel_waste", tier: "gateway", cause: "gateway", startMS: 2510, durMS: 17_691})
	}},
	"A06": {"completed, no abort, no waste", func(a *answer) {
		nothing(a)
		r := a.p.request(a.t, "r1")
		a.check(r.State == requests.StateCompleted && r.Client.State == requests.StateCompleted, "state %s, client %s", r.State, r.Client.State)
	}},

	"U03": {"at the new app version one chunk at the end; the server unchanged", func(a *answer) {
		for i := range 6 {
			old, fresh := "old-"+string(rune('0'+i)), "new-"+string(rune('0'+i))
			a.exactly(old)
			a.exactly(fresh, want{kind: "buffering", tier: "client", evidence: map[string]any{"driver": "end"}})
			r := a.p.request(a.t, fresh)
			a.check(r.Client.NChunks == 1 && val(r.Client.Release) == "new", "%s: %d chunks", fresh, r.Client.NChunks)
		}
	}},
	"U04": {"answers collapse from about 210 chunks to 3 at the new build; gaps unchanged", func(a *answer) { a.shift("chunks", "old", "new") }},
	"U07": {"one loop of 45 with the new build, listed; too few for an alarm", func(a *answer) {
		var loops int
		for _, f := range a.p.found(a.t, "") {
			a.check(f.Kind == "loop", "%s of %s", f.Kind, f.RequestID)
			loops++
			a.check(f.RequestID == "new-44" && val(f.Chunk) == int64(10) && f.Target.ModelVersion != nil && *f.Target.ModelVersion == "new", "loop of %s at %v", f.RequestID, val(f.Chunk))
			a.say("%s", describe(&f))
		}
		a.check(loops == 1, "%d findings", loops)
	}},
}

// listed checks how many requests the case's window lists, and how many of them have a client.
func (a *answer) listed(n, clients int) {
	code, b := a.p.get(a.t, "/v1/requests?since=1h&limit=1000&tenant="+a.p.tenant)
	var page requests.Page
	a.check(code == 200 && json.Unmarshal(b, &page) == nil, "list answers %d", code)
	have := 0
	for i := range page.Requests {
		if page.Requests[i].HasClient && page.Requests[i].RequestID != "" {
			have++
		}
	}
	a.check(len(page.Requests) == n && have == clients, "%d requests are listed, %d with a client; want %d, %d", len(page.Requests), have, n, clients)
	a.say("%d listed", len(page.Requests))
}

// shift checks that the one texture shift of a case is of this feature, between these versions.
func (a *answer) shift(feature, from, to string) {
	var shifts int
	for _, f := range a.p.found(a.t, "") {
		if f.Kind != string(wire.FindingTextureShift) {
			a.check(false, "%s of %s", f.Kind, f.RequestID)
			continue
		}
		var ev struct {
			Feature, From, To string
			MedianBefore      float64 `json:"median_before"`
			MedianAfter       float64 `json:"median_after"`
		}
		_ = json.Unmarshal(f.Evidence, &ev)
		a.check(ev.Feature == feature && ev.From == from && ev.To == to, "shift of %s from %s to %s", ev.Feature, ev.From, ev.To)
		a.say("texture_shift of %s from version %s to %s, median %.0f to %.0f", ev.Feature, ev.From, ev.To, ev.MedianBefore, ev.MedianAfter)
		shifts++
	}
	a.check(shifts == 1, "%d texture shifts", shifts)
}

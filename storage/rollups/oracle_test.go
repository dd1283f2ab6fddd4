package rollups_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/rollups"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
	"github.com/fermata-io/fermata/storage/streams"
)

// told draws what one or two emitters tell of one attempt: answers side by side, aborts, errors, streams that just stop or go
// on, segments besides the whole record, segments in each other's time, a stream that was buried.
func told(t *rapid.T, id string) []wire.Stream {
	var out []wire.Stream
	for _, emitter := range []string{"tap", "vllm"}[:rapid.IntRange(1, 2).Draw(t, "emitters")] {
		s := wire.Stream{
			RequestID: id, Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: emitter, Final: true,
			StartedAt: noon + rapid.Int64Range(0, 2).Draw(t, "start")*1000, Target: wire.Target{Model: id},
			FinishReason: rapid.SampledFrom([]string{"stop", "", "client_disconnect", "client_abort", "AbortError", "error", "timeout", "FAILED", "FinishReason.ERROR"}).Draw(t, "reason"),
			ErrorType:    rapid.SampledFrom([]string{"", "", "", "", "timeout", "canceled"}).Draw(t, "error"),
			Status:       rapid.SampledFrom([]int32{0, 200, 200, 499, 503}).Draw(t, "status"),
			StartUnknown: rapid.IntRange(0, 5).Draw(t, "start unknown") == 0,
		}
		choices := rapid.IntRange(1, 3).Draw(t, "choices")
		at := rapid.Int64Range(0, 500_000).Draw(t, "first")
		for range rapid.IntRange(0, 25).Draw(t, "chunks") {
			s.Chunks.T = append(s.Chunks.T, at)
			s.Chunks.Kind = append(s.Chunks.Kind, rapid.SampledFrom([]wire.Kind{
				wire.KindContent, wire.KindContent, wire.KindContent, wire.KindReasoning, wire.KindRole, wire.KindKeepalive, wire.KindDone,
			}).Draw(t, "kind"))
			s.Chunks.Bytes = append(s.Chunks.Bytes, rapid.Uint32Range(0, 3).Draw(t, "bytes"))
			s.Chunks.Choice = append(s.Chunks.Choice, uint16(rapid.IntRange(0, choices-1).Draw(t, "choice")))
			at += rapid.Int64Range(0, 90_000).Draw(t, "gap")
		}
		if choices == 1 {
			s.Chunks.Choice = nil
		}
		if rapid.Bool().Draw(t, "end known") {
			s.EndUS = wire.Some(at)
		}
		if rapid.IntRange(0, 3).Draw(t, "watched") == 0 {
			s.ObservedUS = wire.Some(at)
		}
		out = append(out, delivered(t, s)...)
	}
	return out
}

func part(c *wire.Chunks, from, until int) wire.Chunks {
	p := wire.Chunks{T: c.T[from:until], Kind: c.Kind[from:until], Bytes: c.Bytes[from:until]}
	if len(c.Choice) > 0 {
		p.Choice = c.Choice[from:until]
	}
	return p
}

// delivered cuts a stream into the records of it.
func delivered(t *rapid.T, s wire.Stream) (out []wire.Stream) {
	n := s.Chunks.Len()
	cuts := []int{0, n}
	for range rapid.IntRange(0, 2).Draw(t, "cuts") {
		cuts = append(cuts, rapid.IntRange(0, n).Draw(t, "cut"))
	}
	slices.Sort(cuts)
	whole := rapid.IntRange(0, 2).Draw(t, "whole") == 0
	if whole {
		w := s
		w.Chunks = part(&s.Chunks, 0, cuts[len(cuts)-1-rapid.IntRange(0, 1).Draw(t, "short")])
		out = append(out, w)
	}
	ends := rapid.IntRange(0, 3).Draw(t, "the end came") > 0
	for i := 1; i < len(cuts); i++ {
		p := s
		p.Seq, p.Final = uint32(i-1), ends && i == len(cuts)-1
		if rapid.IntRange(0, 9).Draw(t, "numbered wrongly") == 0 {
			p.Seq = uint32(len(cuts) + 5 - i)
		}
		if !p.Final {
			p.EndUS, p.FinishReason, p.ErrorType, p.Status = wire.Opt[int64]{}, "", "", 0
		}
		p.Chunks = part(&s.Chunks, cuts[i-1], cuts[i])
		if !whole || p.Seq > 0 {
			out = append(out, p)
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "buried") == 0 {
		lost := wire.Stream{
			RequestID: s.RequestID, Tenant: s.Tenant, Tier: s.Tier, Attempt: 1, Emitter: s.Emitter, Target: s.Target, StartedAt: s.StartedAt,
			Seq: wire.SeqLost, Final: true, ErrorType: "dead_stream", ObservedUS: wire.Some(rapid.Int64Range(0, 3_000_000).Draw(t, "silent at")),
		}
		out = append(out, lost)
	}
	return out
}

// Of every drawn request, a model of its own, the rollup holds the chunks and gaps that Assemble tells.
func TestICLIsAssembles(t *testing.T) {
	db := storagetest.New(t)
	const n = 600
	b := streams.Table.NewBatch()
	want := map[string]*requests.Stream{}
	for i := range n {
		id := fmt.Sprintf("r-%03d", i)
		ss := rapid.Custom(func(t *rapid.T) []wire.Stream { return told(t, id) }).Example(i)
		want[id] = requests.Assemble("default", id, requests.Records{Streams: ss}).Attempts[0].Server
		for k := range ss {
			var row streams.Row
			streams.FromWire(&ss[k], &row)
			b.Append(&row)
		}
	}
	db.Insert(t, b)
	store := rollups.New(db.Conn)
	m, err := rollups.Clock(db.Conn, 1, 0, nil).Settled(t.Context())
	require.NoError(t, err)
	_, err = store.Refresh(t.Context(), 0, m)
	require.NoError(t, err)
	got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(noon), time.UnixMicro(noon+60e6))
	require.NoError(t, err)
	require.Len(t, got, n)
	choices := 0
	for _, g := range got {
		s := want[g.Model]
		gaps := naiveGaps(s.Chunks)
		require.EqualValues(t, s.NContent, g.Chunks, g.Model)
		require.EqualValues(t, slices.Max(append(gaps, 0)), g.MaxGapUS, g.Model)
		if s.Chunks != nil && len(s.Chunks.Choice) > 0 {
			choices++
		}
		if len(gaps) == 0 {
			continue
		}
		require.EqualValues(t, *s.MaxGapUS, g.MaxGapUS, g.Model)
		var q []float64
		require.NoError(t, db.Conn.QueryRow(t.Context(), "SELECT quantilesDDArray(0.005, 0.5, 0.9, 0.95, 0.99)({gaps:Array(UInt32)})",
			clickhouse.Named("gaps", gaps)).Scan(&q))
		require.Equal(t, q, []float64{g.P50, g.P90, g.P95, g.P99}, g.Model)
	}
	require.Greater(t, choices, n/10)
}

// naiveGaps are the times between the content-bearing chunks of each answer.
func naiveGaps(c *requests.Chunks) []uint32 {
	gaps := []uint32{}
	for i := range lenOf(c) {
		for k := i - 1; k >= 0 && bears(c, i); k-- {
			if bears(c, k) && choiceOf(c, k) == choiceOf(c, i) {
				gaps = append(gaps, uint32(c.TUS[i]-c.TUS[k]))
				break
			}
		}
	}
	return gaps
}

func lenOf(c *requests.Chunks) int {
	if c == nil {
		return 0
	}
	return len(c.TUS)
}

func bears(c *requests.Chunks, i int) bool {
	k, _ := wire.ParseKind(c.Kind[i])
	return k.ContentBearing() && c.Bytes[i] > 0
}

func choiceOf(c *requests.Chunks, i int) uint16 {
	if len(c.Choice) == 0 {
		return 0
	}
	return c.Choice[i]
}

// A minute is computed while an insert of one of its records runs. That record is stamped with the second in which the insert
// began, and is in the minute once it is there.
func TestRecordsOfAnInsertThatRanMeanwhile(t *testing.T) {
	db := storagetest.New(t)
	ids := 0
	insert := func() {
		ids++
		s := wire.Stream{
			RequestID: fmt.Sprintf("r-%d", ids), Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "tap", StartedAt: noon, Final: true,
			Target: wire.Target{Model: "m"}, Chunks: wire.Chunks{T: []int64{1, 2}, Bytes: []uint32{1, 1}},
		}
		var row streams.Row
		streams.FromWire(&s, &row)
		b := streams.Table.NewBatch()
		b.Append(&row)
		db.Insert(t, b)
	}
	store := rollups.New(db.Conn)
	clock := rollups.Clock(db.Conn, 1, 0, nil)
	streamsOf := func() uint64 {
		got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(wiretest.Day), time.UnixMicro(wiretest.Day+86_400e6))
		require.NoError(t, err)
		if len(got) == 0 {
			return 0
		}
		return got[0].Streams
	}
	insert()
	_, err := clock.Settled(t.Context())
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		done <- db.Conn.Exec(context.WithoutCancel(t.Context()), `INSERT INTO streams (tenant, request_id, tier, attempt, emitter, started_at, version, model, gaps_us, bytes, labels, numbers)
			SELECT tenant, 'slow', tier, attempt, emitter, started_at, version, model, gaps_us, bytes, labels, numbers FROM streams
			WHERE request_id = 'r-1' AND sleepEachRow(3) = 0 SETTINGS function_sleep_max_microseconds_per_block = 0`)
	}()
	require.Eventually(t, func() bool {
		m, err := clock.Now(t.Context())
		require.NoError(t, err)
		return m.Second() > m.Safe+1
	}, 2*time.Minute, 20*time.Millisecond)
	insert() // overtakes the slow one
	from := int64(0)
	for running := true; running; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running = false
		default:
		}
		m, err := clock.Now(t.Context())
		require.NoError(t, err)
		_, err = store.Refresh(t.Context(), from, m)
		require.NoError(t, err)
		from = m.Safe
	}
	m, err := clock.Settled(t.Context())
	require.NoError(t, err)
	_, err = store.Refresh(t.Context(), from, m)
	require.NoError(t, err)
	require.EqualValues(t, 3, streamsOf())
}

// A minute that was computed before the database's clock was set back is computed again.
func TestClockSetBack(t *testing.T) {
	db := storagetest.New(t)
	ss := []wire.Stream{
		{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: noon, Final: true, Chunks: wire.Chunks{T: []int64{1, 2}, Bytes: []uint32{1, 1}}},
	}
	insert := func() {
		b := streams.Table.NewBatch()
		var row streams.Row
		streams.FromWire(&ss[0], &row)
		b.Append(&row)
		db.Insert(t, b)
	}
	insert()
	store, clock := rollups.New(db.Conn), rollups.Clock(db.Conn, 1, 0, nil)
	m, err := clock.Settled(t.Context())
	require.NoError(t, err)
	ahead := m
	ahead.US, ahead.Safe = m.US+3600e6, m.Safe+3600
	n, err := store.Refresh(t.Context(), 0, ahead)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = store.Refresh(t.Context(), 0, ahead)
	require.NoError(t, err)
	require.Zero(t, n)
	ss[0].RequestID = "later"
	insert()
	m, err = clock.Settled(t.Context())
	require.NoError(t, err)
	n, err = store.Refresh(t.Context(), 0, m)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(noon), time.UnixMicro(noon+60e6))
	require.NoError(t, err)
	require.EqualValues(t, 2, got[0].Streams)
}

// A record that comes late to a minute whose chunk times are no longer kept takes nothing away from it.
func TestMinutesOutliveTheirChunks(t *testing.T) {
	db := storagetest.New(t)
	s := wire.Stream{
		RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: noon, Final: true, Target: wire.Target{Model: "m"},
		Chunks: wire.Chunks{T: []int64{1, 70_001}, Bytes: []uint32{1, 1}},
	}
	insert := func() {
		b := streams.Table.NewBatch()
		var row streams.Row
		streams.FromWire(&s, &row)
		b.Append(&row)
		db.Insert(t, b)
	}
	store, clock := rollups.New(db.Conn), rollups.Clock(db.Conn, 1, 0, nil)
	check := func() {
		m, err := clock.Settled(t.Context())
		require.NoError(t, err)
		n, err := store.Refresh(t.Context(), 0, m)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(noon), time.UnixMicro(noon+60e6))
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.EqualValues(t, 70_000, got[0].MaxGapUS)
		require.EqualValues(t, 1, got[0].Streams)
	}
	insert()
	check()
	require.NoError(t, db.Conn.Exec(t.Context(), "ALTER TABLE streams UPDATE gaps_us = [], bytes = [], kind_runs = [] WHERE true SETTINGS mutations_sync = 1"))
	s.RequestID = "late"
	insert()
	check()
}

// Streams whose chunks are not all content take no more memory than others: four million chunks of five minutes are computed.
func TestMinutesOfManyStreams(t *testing.T) {
	db := storagetest.New(t)
	require.NoError(t, db.Conn.Exec(t.Context(), `
		INSERT INTO streams (tenant, request_id, tier, attempt, emitter, started_at, version, model, gaps_us, bytes, kind_runs, labels, numbers)
		SELECT 'default', toString(number), 'server', 1, 'tap', fromUnixTimestamp64Micro({noon:Int64}) + number % 300, bitOr(bitShiftLeft(1, 40), bitShiftLeft(200, 16)),
			'm', arrayMap(x -> 20000 + x, range(199)), arrayWithConstant(200, 4), [16 + 4, 199 * 16], '{"at":{"n_content":1,"first_content_us":2}}', [199, 300000]
		FROM numbers(20000)`, clickhouse.Named("noon", noon)))
	store := rollups.New(db.Conn)
	m, err := rollups.Clock(db.Conn, 1, 0, nil).Settled(t.Context())
	require.NoError(t, err)
	n, err := store.Refresh(t.Context(), 0, m)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(noon), time.UnixMicro(noon+300e6))
	require.NoError(t, err)
	require.EqualValues(t, 20_000*199, got[0].Chunks)
	require.EqualValues(t, 20_198, got[0].MaxGapUS)
}

package joiner

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/aliases"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/migrations"
	"github.com/fermata-io/fermata/storage/streams"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		runChild(dsn)
	}
	enginetest.Main(m)
}

// rig is a migrated database with a joiner that looks when it is told to.
type rig struct {
	cfg  *Config
	conn driver.Conn
	ins  *clickhouse.Inserter
	w    *worker
}

func newRig(t *testing.T) *rig {
	t.Helper()
	e := enginetest.Start(t)
	cfg := NewDefaultConfig()
	cfg.Settle, cfg.Refresh = 0, time.Nanosecond
	cfg.ClickHouse.DSN = configopaque.String(e.DSN(e.NewDatabase(t)))
	opts, err := cfg.ClickHouse.Options()
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), opts, nil)
	require.NoError(t, err)
	tel, err := newTelemetry(componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	w, err := open(cfg, tel)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.close()) })
	return &rig{cfg: cfg, conn: w.conn, ins: w.insert, w: w}
}

// store inserts records as the exporter does.
func (r *rig) store(t *testing.T, rec corpus.Records) {
	t.Helper()
	s, g, c, a := streams.Table.NewBatch(), gateways.Table.NewBatch(), clients.Table.NewBatch(), aliases.Table.NewBatch()
	var names []aliases.Row
	for i := range rec.Streams {
		var row streams.Row
		streams.FromWire(&rec.Streams[i], &row)
		s.Append(&row)
		names = aliases.AppendStream(names, &rec.Streams[i])
	}
	for i := range rec.Gateways {
		row := gateways.FromWire(&rec.Gateways[i])
		g.Append(&row)
		names = aliases.AppendGateway(names, &rec.Gateways[i])
	}
	for i := range rec.Clients {
		if rec.Clients[i].ReceivedAt == 0 {
			rec.Clients[i].ReceivedAt = time.Now().UnixMicro()
		}
		row := clients.FromWire(&rec.Clients[i])
		c.Append(&row)
		names = aliases.AppendClient(names, &rec.Clients[i])
	}
	for i := range names {
		a.Append(&names[i])
	}
	for _, b := range []struct {
		n     int
		block clickhouse.Block
	}{
		{s.Len(), clickhouse.Block{SQL: s.InsertSQL(), Input: s.Input()}},
		{g.Len(), clickhouse.Block{SQL: g.InsertSQL(), Input: g.Input()}},
		{c.Len(), clickhouse.Block{SQL: c.InsertSQL(), Input: c.Input()}},
		{a.Len(), clickhouse.Block{SQL: a.InsertSQL(), Input: a.Input()}},
	} {
		if b.n > 0 {
			require.NoError(t, r.ins.Insert(t.Context(), b.block))
		}
	}
}

func (r *rig) look(t *testing.T) {
	t.Helper()
	var now time.Time
	require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT now()").Scan(&now))
	require.Eventually(t, func() bool { // the second has to be over
		require.NoError(t, r.w.look(t.Context()))
		return r.w.from > now.Unix()
	}, 2*time.Minute, 20*time.Millisecond)
}

// rows counts the states stored.
func (r *rig) rows(t *testing.T) (n uint64) {
	t.Helper()
	require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT count() FROM findings").Scan(&n))
	return n
}

// told returns what the joiner has stored of a request's findings.
func (r *rig) told(t *testing.T, id string) []findings.Row {
	t.Helper()
	rows, err := r.w.found.Rows(t.Context(), "default", []string{id})
	require.NoError(t, err)
	return slices.DeleteFunc(rows, func(row findings.Row) bool { return row.Origin != findings.OriginJoin })
}

func (r *rig) list(t *testing.T) []findings.Finding {
	t.Helper()
	p, err := r.w.found.List(t.Context(), findings.Filter{Limit: 1000})
	require.NoError(t, err)
	return p.Findings
}

func kinds(fs []findings.Finding) map[string]int {
	out := map[string]int{}
	for i := range fs {
		out[fs[i].RequestID+" "+fs[i].Kind]++
	}
	return out
}

// play makes the records of some cases, with ids of their own.
func play(t *testing.T, ids ...string) (all corpus.Records) {
	t.Helper()
	list, err := corpus.LoadCases("../../processors/testdata/cases.jsonl")
	require.NoError(t, err)
	base := time.Now().Add(-10 * time.Minute).UnixMicro()
	for _, id := range ids {
		for i := range list {
			if list[i].ID == id {
				rec := list[i].Play(id+"-", base)
				all.Streams = append(all.Streams, rec.Streams...)
				all.Gateways = append(all.Gateways, rec.Gateways...)
				all.Clients = append(all.Clients, rec.Clients...)
			}
		}
	}
	return all
}

// What the tiers show is stored once, in whatever order they arrive, and listed by window.
func TestJoinsWhatArrives(t *testing.T) {
	want := map[string]int{"B01-r1 buffering": 1, "A03-r1 cancel_waste": 1, "P01-r1 render_lag": 1, "T08-r1 clock_conflict": 1, "R01-id-7 id_conflict": 1}
	all := play(t, "B01", "A03", "P01", "T08", "R01", "K05", "V01", "L01")
	for name, parts := range map[string][]corpus.Records{
		"at once":      {all},
		"server first": {{Streams: all.Streams}, {Gateways: all.Gateways, Clients: all.Clients}},
		"client first": {{Gateways: all.Gateways, Clients: all.Clients}, {Streams: all.Streams}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for _, p := range parts {
				r.store(t, p)
				r.look(t)
			}
			require.Equal(t, want, kinds(r.list(t)))
			stored := r.rows(t)
			for range 3 {
				r.look(t)
			}
			r.store(t, all) // delivered again
			r.look(t)
			require.Equal(t, stored, r.rows(t), "nothing new, nothing stored")
			require.Equal(t, want, kinds(r.list(t)))
		})
	}
}

// A finding that later records explain away is withdrawn, and comes back when more of them show it again.
func TestWithdraws(t *testing.T) {
	r := newRig(t)
	all := play(t, "A01")
	page := all.Clients[0]
	r.store(t, all)
	r.look(t)
	require.Equal(t, map[string]int{"A01-r1 cancel_waste": 1}, kinds(r.list(t)))
	// A second segment of the page tells that it had got everything before it was left.
	page.Seq, page.Recv, page.Aborted, page.Done = 1, wire.Chunks{}, wire.Opt[int64]{}, wire.Some(page.Aborted.V-1000)
	r.store(t, corpus.Records{Clients: []wire.Client{page}})
	r.look(t)
	require.Empty(t, r.list(t))
}

// A joiner that begins anew goes by the findings that are stored, also where one was told, by a joiner that was killed then, after
// the record that explains it away had come.
func TestWithdrawsWhatAKilledOneTold(t *testing.T) {
	r := newRig(t)
	all := play(t, "A01")
	page := all.Clients[0]
	r.store(t, all)
	r.look(t)
	told := r.told(t, "A01-r1")
	require.Len(t, told, 1)

	r = newRig(t)
	page.Seq, page.Recv, page.Aborted, page.Done = 1, wire.Chunks{}, wire.Opt[int64]{}, wire.Some(page.Aborted.V-1000)
	all.Clients = append(all.Clients, page)
	r.store(t, all)
	_, err := r.w.clock.Settled(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.w.write(t.Context(), told))
	r.cfg.MaxRequests = 1 // one second after the other
	r.restart(t)
	r.look(t)
	require.Empty(t, r.list(t))
}

// An engine that logs under the id of its answer is joined with the page that knows the request by its own.
func TestJoinsByTheAnswersID(t *testing.T) {
	all := play(t, "B03")
	all.Streams[0].RequestID = "chatcmpl-7"
	all.Clients[0].ResponseID = "chatcmpl-7"
	r := newRig(t)
	r.store(t, corpus.Records{Clients: all.Clients})
	r.look(t)
	r.store(t, corpus.Records{Streams: all.Streams})
	r.look(t)
	require.Equal(t, map[string]int{"B03-r1 buffering": 1}, kinds(r.list(t)))
}

// What is found late in a stream that was logged under the answer's id reaches the request, also where a joiner that began since
// holds nothing of either: the page's broken stream is explained by the engine's.
func TestFindingsUnderTheAnswersID(t *testing.T) {
	began := time.Now().Add(-10 * time.Minute).UnixMicro()
	times := func(from int64) (c wire.Chunks) {
		for i := range int64(50) {
			c.T, c.Bytes, c.Kind = append(c.T, from+i*20_000), append(c.Bytes, 4), append(c.Kind, wire.KindContent)
		}
		return c
	}
	engine := wire.Stream{
		RequestID: "chatcmpl-9", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "vllm", StartedAt: began, Final: true, Chunks: times(100_000),
	}
	page := wire.Client{
		RequestID: "r-page", ResponseID: "chatcmpl-9", Tenant: "default", SessionID: "s", TimeOrigin: began, Submit: wire.Some[int64](0), RequestSent: wire.Some[int64](0),
		Recv: times(110_000), ErrorType: "network_error", Closed: wire.Some[int64](110_000 + 50*20_000), Final: true, ReceivedAt: began + 5_000_000,
	}
	dead := wire.Finding{
		ID: "dead", Kind: wire.FindingDeadStream, Tenant: "default", RequestID: "chatcmpl-9", Tier: wire.TierServer, Attempt: 1, Emitter: "vllm", StartedAt: began,
		StartUS: 1_080_000, Evidence: json.RawMessage(`{}`), Revision: 1024,
	}
	for _, restarts := range []bool{false, true} {
		r := newRig(t)
		r.store(t, corpus.Records{Streams: []wire.Stream{engine}, Clients: []wire.Client{page}})
		r.look(t)
		require.Equal(t, map[string]int{"r-page dead_stream": 1}, kinds(r.list(t)))
		if restarts {
			require.NoError(t, r.w.saveProgress(t.Context()))
			r.restart(t)
		}
		b := findings.Table.NewBatch()
		row := findings.FromWire(&dead, findings.OriginStream)
		b.Append(&row)
		require.NoError(t, r.ins.Insert(t.Context(), clickhouse.Block{SQL: b.InsertSQL(), Input: b.Input()}))
		r.look(t)
		require.Equal(t, map[string]int{"chatcmpl-9 dead_stream": 1}, kinds(r.list(t)))
	}
}

// Two versions of a target that feel different are told once, with which side of them; one loop is no shift.
func TestTextureOfVersions(t *testing.T) {
	r := newRig(t)
	all := play(t, "U04", "U07")
	for i := range all.Streams {
		all.Streams[i].Model = all.Streams[i].RequestID[:3] // a target for each case
	}
	r.store(t, all)
	r.look(t)
	got := r.list(t)
	require.Len(t, got, 1)
	require.Equal(t, "texture_shift", got[0].Kind)
	require.NotNil(t, got[0].Target.Model)
	require.Equal(t, "U04", *got[0].Target.Model)
	require.NotNil(t, got[0].Target.ModelVersion)
	require.Equal(t, "new", *got[0].Target.ModelVersion)
	var ev shiftEvidence
	require.NoError(t, json.Unmarshal(got[0].Evidence, &ev))
	require.Equal(t, "chunks", ev.Feature)
	require.Equal(t, "old", ev.From)
	require.Equal(t, "new", ev.To)
	require.InDelta(t, 210, ev.MedianBefore, 5)
	require.EqualValues(t, 3, ev.MedianAfter)
	stored := r.rows(t)
	r.w.textureDue, r.w.textureFrom = time.Time{}, 0
	r.look(t)
	require.Equal(t, stored, r.rows(t), "nothing new, nothing stored")
}

func TestLifecycle(t *testing.T) {
	r := newRig(t)
	r.cfg.Interval = 20 * time.Millisecond
	f := NewFactory()
	require.NoError(t, r.cfg.Validate())
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(Type), r.cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Shutdown(t.Context()), "not started")
	require.NoError(t, ext.Start(t.Context(), componenttest.NewNopHost()))
	r.store(t, play(t, "B03"))
	require.Eventually(t, func() bool { return len(r.list(t)) == 1 }, 2*time.Minute, 20*time.Millisecond)
	require.NoError(t, ext.Shutdown(t.Context()))
	require.NoError(t, ext.Shutdown(t.Context()))
}

func TestConfig(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.Interval, cfg.Lag, cfg.Settle, cfg.Refresh, cfg.EventSlack, cfg.Batch, cfg.MaxRequests, cfg.MemoryBytes = 0, -1, -1, 0, 0, 0, -1, 0
	cfg.TextureInterval, cfg.TextureWindow = 0, 0
	err := cfg.Validate()
	for _, key := range []string{"interval", "lag", "settle", "refresh", "memory_bytes", "event_slack", "batch", "max_requests", "texture_interval", "texture_window"} {
		require.ErrorContains(t, err, key+": ")
	}
}

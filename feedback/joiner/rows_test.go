package joiner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/requests/requeststest"
	"github.com/fermata-io/fermata/storage/table"
)

// drawn makes the records of n requests, as they are delivered, dealt out to some inserts.
func drawn(prefix string, n, parts int) (ids []string, out []corpus.Records) {
	out = make([]corpus.Records, parts)
	for i := range n {
		id := fmt.Sprintf("%s%d", prefix, i)
		ids = append(ids, id)
		rec := rapid.Custom(func(t *rapid.T) requests.Records { return requeststest.Story(t, id) }).Example(i)
		rec = rapid.Custom(func(t *rapid.T) requests.Records { return requeststest.Delivered(t, rec) }).Example(i)
		for k := range rec.Streams {
			p := &out[(i+3*k)%parts]
			p.Streams = append(p.Streams, rec.Streams[k])
		}
		for k := range rec.Gateways {
			p := &out[(i+5*k+1)%parts]
			p.Gateways = append(p.Gateways, rec.Gateways[k])
		}
		for k := range rec.Clients {
			p := &out[(i+k+2)%parts]
			p.Clients = append(p.Clients, rec.Clients[k])
		}
	}
	return ids, out
}

// check compares the rows with what a look-up by id assembles from the source tables. What is known of a request's
// clocks grows with its session, so what a row tells of them is what was known then.
func (r *rig) check(t *testing.T, ids []string) {
	t.Helper()
	sc := requests.Table.NewScanner()
	rows, err := r.conn.Query(t.Context(), "SELECT "+requests.Table.SelectList()+" FROM requests FINAL WHERE NOT gone ORDER BY request_id")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	stored := map[string]requests.Row{}
	for rows.Next() {
		row, err := sc.Scan(rows)
		require.NoError(t, err)
		require.NotContains(t, stored, row.RequestID, "a request has two rows")
		stored[row.RequestID] = plain(row)
	}
	require.NoError(t, rows.Err())
	for _, id := range ids {
		want, err := r.w.store.Request(t.Context(), "default", id)
		require.NoError(t, err)
		require.Equal(t, plain(want.Row()), stored[id])
	}
	require.Len(t, stored, len(ids))
}

func plain(row requests.Row) requests.Row {
	row.Version, row.ClockUncertaintyUS = 0, table.Opt[uint64]{}
	for _, part := range []*table.Opt[int64]{
		&row.ClockOffsetUS, &row.GapPageUS, &row.GapUplinkUS, &row.GapGatewayQueueUS, &row.GapRetriesUS, &row.GapUpstreamUS,
		&row.GapReasoningUS, &row.GapDownlinkUS, &row.GapNetworkUS, &row.GapDriftUS, &row.GapRenderUS,
	} {
		*part = table.Opt[int64]{}
	}
	return row
}

// The rows are Assemble's answers, in whatever order the records of hundreds of drawn requests arrive, also where the
// memory holds few; nothing is written where nothing changed.
func TestRowsAreAssembles(t *testing.T) {
	for name, bytes := range map[string]int{"all held": 64 << 20, "few held": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			require.NoError(t, r.conn.Exec(t.Context(), "SYSTEM STOP MERGES requests")) // states are counted
			r.w.memory.most = bytes
			ids, parts := drawn("d-", 120, 4)
			for _, p := range parts {
				r.store(t, p)
				r.look(t)
			}
			r.check(t, ids)
			var before, after uint64
			require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT count() FROM requests").Scan(&before))
			r.look(t)
			require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT count() FROM requests").Scan(&after))
			require.Equal(t, before, after)
			require.Equal(t, bytes == 1, r.w.memory.dropped > 0)
		})
	}
}

// An engine that logs under the id of its answer has no row of its own once the request is known, whichever came first.
func TestAnswersHaveNoRows(t *testing.T) {
	at := time.Now().Add(-time.Minute).UnixMicro()
	tap := wire.Stream{
		RequestID: "r-main", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "tap", StartedAt: at, Final: true, ResponseID: "chatcmpl-1",
		Chunks: wire.Chunks{T: []int64{100_000, 200_000}, Bytes: []uint32{3, 3}}, EndUS: wire.Some(int64(300_000)),
	}
	engine := tap
	engine.RequestID, engine.ResponseID, engine.Emitter, engine.StartedAt = "chatcmpl-1", "", "vllm", at-5_000
	page := wire.Client{Tenant: "default", SessionID: "s", ResponseID: "chatcmpl-1", Submit: wire.Some(int64(1)), Final: true, Browser: "firefox"}
	all := []corpus.Records{{Streams: []wire.Stream{tap}}, {Streams: []wire.Stream{engine}}, {Clients: []wire.Client{page}}}
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}} {
		r := newRig(t)
		for _, k := range order {
			r.store(t, all[k])
			r.look(t)
		}
		r.look(t)
		r.check(t, []string{"r-main"})
	}
}

// A page that is known under an alias of the request it asked for is listed there and not once more, whichever came first.
func TestPagesUnderAnAlias(t *testing.T) {
	at := time.Now().Add(-time.Minute).UnixMicro()
	tap := corpus.Records{Streams: []wire.Stream{{
		RequestID: "r-main", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "tap", StartedAt: at, Final: true, Aliases: []string{"p-1"},
		Chunks: wire.Chunks{T: []int64{100_000, 200_000}, Bytes: []uint32{3, 3}}, EndUS: wire.Some(int64(300_000)),
	}}}
	page := corpus.Records{Clients: []wire.Client{{
		RequestID: "p-1", Tenant: "default", SessionID: "s", TimeOrigin: at - 1_000_000, Submit: wire.Some(int64(990_000)), Done: wire.Some(int64(1_400_000)),
		FirstPaint: wire.Some(int64(1_200_000)), ReceivedAt: at + 1_000_000, Final: true,
	}}}
	for _, parts := range [][]corpus.Records{{tap, page}, {page, tap}, {{Streams: tap.Streams, Clients: page.Clients}}} {
		r := newRig(t)
		for _, p := range parts {
			r.store(t, p)
			r.look(t)
		}
		r.check(t, []string{"r-main"})
		got, err := r.w.store.Request(t.Context(), "default", "p-1")
		require.NoError(t, err)
		require.Equal(t, "r-main", got.RequestID)
		require.NotNil(t, got.Perceived.GapUS)
	}
}

// A record that comes after everything was forgotten rewrites the row, also where it moves the request's start.
func TestLateRecordAfterARestart(t *testing.T) {
	ids, parts := drawn("late-", 60, 1)
	r := newRig(t)
	late := corpus.Records{Streams: parts[0].Streams}
	parts[0].Streams = nil
	r.store(t, parts[0])
	r.look(t)
	require.NoError(t, r.w.saveProgress(t.Context()))
	r.restart(t)
	r.store(t, late)
	r.look(t)
	r.check(t, ids)
}

// restart puts a new joiner in the place of the one before.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	w, err := open(r.cfg, r.w.tel)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.close()) })
	r.w = w
}

// childDSN names, in the environment of a process of this test, the database that it is to join until it is killed.
const childDSN = "FERMATA_TEST_JOINER_DSN"

// runChild is the killed process: a joiner that holds little, so that it reads and looks up a lot.
func runChild(dsn string) {
	cfg := NewDefaultConfig()
	cfg.ClickHouse.DSN = configopaque.String(dsn)
	cfg.Interval, cfg.Settle, cfg.MaxRequests, cfg.Batch, cfg.MemoryBytes = 10*time.Millisecond, 0, 50, 20, 1<<20
	ext, err := NewFactory().Create(context.Background(), extensiontest.NewNopSettings(Type), cfg)
	if err == nil {
		err = ext.Start(context.Background(), componenttest.NewNopHost())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {} // until it is killed
}

// A joiner that is killed again and again while records arrive leaves the rows of all requests as Assemble has them once one
// lives long enough.
func TestKilledInTheMiddle(t *testing.T) {
	r := newRig(t)
	ids, parts := drawn("kill-", 200, 8)
	count := func() (n uint64) {
		require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT count() FROM requests").Scan(&n))
		return n
	}
	for i, p := range parts {
		exe, err := os.Executable()
		require.NoError(t, err)
		child := exec.Command(exe)
		child.Env = append(os.Environ(), childDSN+"="+string(r.cfg.ClickHouse.DSN))
		child.Stderr = os.Stderr
		before := count()
		require.NoError(t, child.Start())
		r.store(t, p)
		if i%2 == 0 { // killed while it writes; else before, mostly
			require.Eventually(t, func() bool { return count() > before }, 2*time.Minute, time.Millisecond)
		}
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
	r.look(t)
	r.check(t, ids)
}

// A joiner that can't follow says so, and says when it has caught up.
func TestTellsThatItIsBehind(t *testing.T) {
	r := newRig(t)
	core, logs := observer.New(zap.InfoLevel)
	set := extensiontest.NewNopSettings(Type)
	set.Logger = zap.New(core)
	ext, err := newExtension(set.TelemetrySettings, r.cfg)
	require.NoError(t, err)
	host := &host{Host: componenttest.NewNopHost()}
	ext.report(host, 42*time.Second, true)
	require.Equal(t, componentstatus.StatusRecoverableError, host.last.Status())
	require.ErrorContains(t, host.last.Err(), "42s behind")
	require.Equal(t, 1, logs.FilterField(zap.Duration("lag", 42*time.Second)).Len())
	ext.report(host, 0, false)
	require.Equal(t, componentstatus.StatusOK, host.last.Status())

	var lag time.Duration
	r.w.tell = func(l time.Duration) { lag = max(lag, l) }
	r.store(t, play(t, "B03"))
	require.NoError(t, r.conn.Exec(t.Context(), "INSERT INTO joiner_progress (name, handled) VALUES ('requests', toUnixTimestamp(now() - 3600))"))
	r.cfg.MaxRequests = 1
	r.look(t)
	require.Less(t, lag, 2*time.Hour)
	require.Positive(t, r.w.handled())
}

type host struct {
	component.Host
	last *componentstatus.Event
}

func (h *host) Report(e *componentstatus.Event) { h.last = e }

// A record that arrives while an insert that began before still runs is not taken for the last of its second.
func TestMomentWaitsForInserts(t *testing.T) {
	r := newRig(t)
	before, err := r.w.clock.Now(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- r.conn.Exec(ctx, `INSERT INTO streams (tenant, request_id, started_at)
			SELECT 'slow', toString(number), now64(6) FROM numbers(1000) WHERE sleepEachRow(0.05) = 0 SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0`)
	}()
	require.Eventually(t, func() bool {
		m, err := r.w.clock.Now(t.Context())
		require.NoError(t, err)
		return m.Second() > m.Safe+1
	}, 2*time.Minute, 20*time.Millisecond)
	m, err := r.w.clock.Now(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, m.Safe, before.Second())
	stop()
	require.Error(t, <-done)
}

// A filter knows every name that was added since it says.
func TestFilter(t *testing.T) {
	f := newFilter(100)
	n := func(i int) name { return name{"t", strconv.Itoa(i)} }
	for i := range 20_000 {
		f.add(ofRecord, n(i), 200)
	}
	passed := 0
	for i := range 20_000 {
		require.True(t, f.has(ofRecord, n(i)))
		if f.has(ofAnswer, n(i)) || f.has(ofRecord, n(1_000_000+i)) {
			passed++
		}
	}
	require.Less(t, passed, 200)
	require.EqualValues(t, 100, f.since)
	f.added = filterMost // full
	f.add(ofRecord, n(-1), 300)
	require.True(t, f.has(ofRecord, n(0)))
	require.EqualValues(t, 100, f.since)
	f.added = filterMost
	f.add(ofRecord, n(-2), 400)
	require.False(t, f.has(ofRecord, n(0)))
	require.True(t, f.has(ofRecord, n(-1)))
	require.EqualValues(t, 300, f.since, "what came before is forgotten")
}

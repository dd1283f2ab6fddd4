package joiner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
)

// What came first is joined first, whatever its tenant is called, and the inserts of a round are not one for each tenant.
func TestOldestFirst(t *testing.T) {
	w := &worker{cfg: NewDefaultConfig(), memory: newMemory(1 << 20), now: 1000}
	for tenant, seconds := range map[string][]int64{"a": {900, 905, 905, 910, 911}, "b": {899}, "z": {903, 908}} {
		for i, s := range seconds {
			w.note(w.memory.get(name{tenant, fmt.Sprint(9 - i)}), s, s+1, false)
		}
	}
	var got []string
	for _, batch := range w.due(time.Now(), 2) {
		text := batch[0].tenant
		for _, h := range batch {
			require.Equal(t, batch[0].tenant, h.tenant)
			text += fmt.Sprint(" ", h.since)
		}
		got = append(got, text)
	}
	require.Equal(t, []string{"b 899", "a 900 905", "z 903 908", "a 905 910", "a 911"}, got)
}

// A request is given its moment from when its records came: a look that is late does not make it wait for the next one.
func TestSettleCountsFromArrival(t *testing.T) {
	asked := time.Now()
	w := &worker{cfg: NewDefaultConfig(), memory: newMemory(1 << 20), now: 1000, nowUS: 1000_200_000, asked: asked}
	due := func(since, until int64, running bool, row written) time.Duration {
		h := w.memory.get(name{"t", fmt.Sprint(len(w.memory.all))})
		h.row = row
		w.note(h, since, until, running)
		return h.due.Sub(asked)
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	require.Equal(t, ms(800), due(999, 1000, false, written{}))
	require.Equal(t, ms(-4200), due(994, 995, false, written{}), "due when it is noted")
	require.Equal(t, ms(800), due(980, 1000, false, written{}), "the last of these seconds counts")
	require.Equal(t, ms(-100_200), due(890, 900, false, written{}), "too old to be given a moment")
	require.Equal(t, ms(-200), due(999, 1000, true, written{}), "not listed yet")
	listed := written{version: 1, running: true, when: asked.Add(-ms(4000))}
	require.Equal(t, ms(6000), due(999, 1000, true, listed))
	listed.when = asked.Add(-time.Minute)
	require.Equal(t, ms(-200), due(999, 1000, true, listed), "a silence of the stream is no lag")
}

// How far behind the joiner is counts the wait of what it joined only now.
func TestLagCountsTheWait(t *testing.T) {
	r := newRig(t)
	r.look(t)
	r.look(t)
	var told []time.Duration
	r.w.tell = func(lag time.Duration) { told = append(told, lag) }
	m, err := r.w.clock.Settled(t.Context())
	require.NoError(t, err)
	start := time.Now()
	r.w.from, r.w.nowUS, r.w.asked = m.Safe, m.US, start
	r.w.again(name{"default", "r"}, m.Safe-40)
	require.NoError(t, r.w.joinDue(t.Context(), m, start))
	require.Empty(t, r.w.memory.pending)
	require.NoError(t, r.w.joinDue(t.Context(), m, start))
	require.Len(t, told, 2)
	require.Greater(t, told[0], farBehind)
	require.Less(t, told[1], told[0])
}

// The requests of many tenants are written together, and those that can't be joined hold up nobody else's: they are tried again.
func TestTenantThatCantBeJoined(t *testing.T) {
	r := newRig(t)
	r.look(t)
	r.look(t)
	const tenants = 40
	var all corpus.Records
	for i := range tenants {
		all.Streams = append(all.Streams, wire.Stream{
			RequestID: "r", Tenant: fmt.Sprintf("t-%02d", i), Tier: wire.TierServer, Attempt: 1, Emitter: "vllm", StartedAt: time.Now().UnixMicro(), Final: true,
			Chunks: wire.Chunks{T: []int64{100_000, 200_000}, Bytes: []uint32{3, 3}}, EndUS: wire.Some(int64(300_000)),
		})
	}
	bad := name{"t-00", "r"}
	rows := func() (n uint64) {
		require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT uniqExact(tenant) FROM requests").Scan(&n))
		return n
	}
	r.store(t, all)
	m, err := r.w.clock.Settled(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.w.take(t.Context(), span{from: r.w.from, until: m.Safe, shards: 1}))
	r.w.from = m.Safe
	// Its records have to be read, and may not be.
	r.w.memory.forget(r.w.memory.all[bad])
	require.NoError(t, r.conn.Exec(t.Context(), "RENAME TABLE gateways TO gone"))
	require.NoError(t, r.w.joinDue(t.Context(), m, time.Now()))
	require.Error(t, r.w.failed)
	require.EqualValues(t, tenants-1, rows())
	require.Len(t, r.w.memory.pending, 1)
	require.Less(t, r.w.handled(), m.Safe)
	var inserts uint64
	require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT uniqExact(_part) FROM requests").Scan(&inserts))
	require.EqualValues(t, 1, inserts)

	require.NoError(t, r.conn.Exec(t.Context(), "RENAME TABLE gone TO gateways"))
	r.look(t)
	require.EqualValues(t, tenants, rows())
	require.Empty(t, r.w.memory.pending)
}

// An insert of findings whose answer was lost may have worked: the next try reads what is stored, also of a new request.
func TestInsertWhoseAnswerWasLost(t *testing.T) {
	all := play(t, "A01")
	page := all.Clients[0]
	r := newRig(t)
	r.store(t, all)
	r.look(t)
	told := r.told(t, "A01-r1")
	require.Len(t, told, 1)

	r = newRig(t)
	r.look(t)
	r.look(t)
	page.Seq, page.Recv, page.Aborted, page.Done = 1, wire.Chunks{}, wire.Opt[int64]{}, wire.Some(page.Aborted.V-1000)
	all.Clients = append(all.Clients, page)
	r.store(t, all)
	m, err := r.w.clock.Settled(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.w.take(t.Context(), span{from: r.w.from, until: m.Safe, shards: 1}))
	// A try before the page's last record came: it failed as far as the joiner knows.
	works := r.w.insert
	r.w.insert, err = clickhouse.OpenInserter(r.cfg.ClickHouse)
	require.NoError(t, err)
	require.NoError(t, r.w.insert.Close())
	require.Error(t, r.w.write(t.Context(), told))
	r.w.insert = works
	b := findings.Table.NewBatch()
	b.Append(&told[0])
	require.NoError(t, r.ins.Insert(t.Context(), clickhouse.Block{SQL: b.InsertSQL(), Input: b.Input()}))
	require.NotEmpty(t, r.list(t))
	require.NoError(t, r.w.joinDue(t.Context(), m, time.Now()))
	require.Empty(t, r.list(t))
}

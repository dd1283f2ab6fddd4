package requests_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/table"
)

// visit returns n requests of one session, two minutes apart, with a round trip of 40 ms that the last one halves. Clocks run
// evenly, the page's a minute ahead.
func visit(n int) requests.Records {
	var rec requests.Records
	for k := range n {
		id := fmt.Sprintf("v-%02d", k)
		start := noon + int64(k)*120*sec
		way := 20 * ms
		if k == n-1 {
			way = 10 * ms
		}
		s := stream(id, 1, func(s *wire.Stream) { s.StartedAt, s.Emitter = start, "vllm" })
		origin := noon - 600*sec
		page := func(x int64) int64 { return x + 60*sec - origin }
		c := wire.Client{
			RequestID: id, Tenant: "default", SessionID: "visit", TimeOrigin: origin, Final: true, ReceivedAt: start + 9*sec,
			Submit: wire.Some(page(start - way - ms)), RequestSent: wire.Some(page(start - way)),
		}
		for i, t := range s.Chunks.T {
			c.Recv.T, c.Recv.Bytes = append(c.Recv.T, page(start+t+way)), append(c.Recv.Bytes, s.Chunks.Bytes[i])
		}
		rec.Streams, rec.Clients = append(rec.Streams, s), append(rec.Clients, c)
	}
	return rec
}

// What the joiner stores of some requests makes the others better known; what it stored of fewer records gives way.
func TestALookUpGoesByItsSession(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	const n = 6
	rec := visit(n)
	insert(t, db, rec, 1)
	alone, err := store.Request(t.Context(), "default", "v-00")
	require.NoError(t, err)
	require.Equal(t, requests.ClockCausal, alone.Clock.Source)

	ids := make([]string, n)
	for k := range ids {
		ids[k] = fmt.Sprintf("v-%02d", k)
	}
	all, err := store.Requests(t.Context(), "default", ids)
	require.NoError(t, err)
	b := clocks.Table.NewBatch()
	for _, r := range all {
		require.Equal(t, n, r.Clock.Requests, "those read together count for each other")
		rows := r.ClockRows()
		require.Len(t, rows, 1)
		b.Append(&rows[0])
		old := rows[0]
		old.Version, old.ThetaUS = old.Version-1, old.ThetaUS+sec
		b.Append(&old)
	}
	db.Insert(t, b)
	for k, id := range ids {
		r, err := store.Request(t.Context(), "default", id)
		require.NoError(t, err)
		require.Equal(t, jsonOf(t, all[k]), jsonOf(t, r), "one by one as together")
		require.Equal(t, requests.ClockSession, r.Clock.Source)
		require.InDelta(t, 60*sec, r.Clock.OffsetUS, float64(r.Clock.UncertaintyUS))
		require.LessOrEqual(t, r.Clock.UncertaintyUS, 10*ms+50)
		require.Empty(t, r.Conflicts)
		require.Empty(t, r.ClockRows(), "nothing new to store")
	}
	other, err := store.Request(t.Context(), "default", "v-00")
	require.NoError(t, err)
	require.Less(t, other.Clock.UncertaintyUS, alone.Clock.UncertaintyUS)
	require.Equal(t, []string{"v-01"}, other.ClockNeighbours())
}

// A page that slept, and a record of another request under a wrong id, are told at the request where they show.
func TestContradictionsOfASession(t *testing.T) {
	rec := visit(6)
	wall := func(c *wire.Client, ahead int64) {
		c.ClockNow = wire.Some(c.Recv.T[len(c.Recv.T)-1] + sec)
		c.WallNow = c.TimeOrigin + c.ClockNow.V + ahead
	}
	const slept = 300 * sec
	for k := range rec.Clients {
		c := &rec.Clients[k]
		if k < 3 {
			wall(c, 0)
			continue
		}
		c.Submit.V, c.RequestSent.V = c.Submit.V-slept, c.RequestSent.V-slept
		for i := range c.Recv.T {
			c.Recv.T[i] -= slept
		}
		wall(c, slept)
	}
	session := rowsOf(rec)
	for k := range rec.Clients {
		id := rec.Clients[k].RequestID
		r := requests.Assemble("default", id, requests.Records{Streams: rec.Streams[k : k+1], Clients: rec.Clients[k : k+1], Session: session})
		require.NotNil(t, r.Clock)
		if k != 3 {
			require.Empty(t, r.Conflicts, id)
			continue
		}
		require.Len(t, r.Conflicts, 1)
		require.Equal(t, requests.ConflictClock, r.Conflicts[0].Kind)
		require.Contains(t, r.Conflicts[0].Detail, "slept")
		require.InDelta(t, -slept, r.Conflicts[0].Evidence[0], float64(r.Conflicts[0].Evidence[1]))
	}
}

// Whoever assembles a request goes by the same rows of its session, however long that is: alone or among others, those who lie
// near each other or far apart, and with versions of rows that are not merged yet.
func TestWhatCountsOfALongSession(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	const n = 1100
	rec := visit(6)
	ids := []string{}
	b := clocks.Table.NewBatch()
	first := rowsOf(rec)[0]
	for k := range n { // stored requests every ten seconds, two rows each, whose bounds say who they are
		row := first
		row.RequestID = fmt.Sprintf("s-%04d", k)
		row.SubmitUS = uint64(int64(first.SubmitUS) - 300*sec + int64(k)*10*sec)
		row.StartedAt += table.Micros(int64(row.SubmitUS) - int64(first.SubmitUS))
		row.LowerUS, row.UpperUS = []int32{int32(-k)}, []int32{int32(40*ms + int64(k))}
		row.LowerAtUS, row.UpperAtUS = []uint64{0}, []uint64{0}
		for _, tier := range []string{"gateway", "server"} {
			row.Tier = tier
			for row.Version = 1; row.Version < 4; row.Version++ {
				b.Append(&row)
			}
		}
	}
	db.Insert(t, b)
	insert(t, db, rec, 1)
	for k := range rec.Clients {
		ids = append(ids, rec.Clients[k].RequestID)
	}
	for _, limits := range []requests.ReadLimits{{}, {Rows: 100}} { // all at once, or each for itself
		all, err := requests.New(db.Conn, limits).Requests(t.Context(), "default", ids)
		require.NoError(t, err)
		require.Len(t, all, len(ids))
		batch := clocks.Table.NewBatch()
		for _, r := range all {
			for _, row := range r.ClockRows() {
				batch.Append(&row)
			}
		}
		if limits.Rows == 0 {
			db.Insert(t, batch) // as the joiner does
		}
		for k, id := range ids {
			r, err := store.Request(t.Context(), "default", id)
			require.NoError(t, err)
			require.Equal(t, jsonOf(t, all[k]), jsonOf(t, r), id)
			require.Less(t, r.Clock.Requests, 513)
			require.Greater(t, r.Clock.Requests, 128)
		}
	}
}

func rowsOf(rec requests.Records) []clocks.Row {
	var out []clocks.Row
	for k := range rec.Clients {
		r := requests.Assemble("default", rec.Clients[k].RequestID, requests.Records{Streams: rec.Streams[k : k+1], Clients: rec.Clients[k : k+1]})
		out = append(out, r.ClockRows()...)
	}
	return out
}

// The order of what is known of a session, and what is known twice, don't change an answer.
func TestSessionInAnyOrder(t *testing.T) {
	rec := visit(6)
	session := rowsOf(rec)
	records := requests.Records{Streams: rec.Streams[2:3], Clients: rec.Clients[2:3], Session: session}
	want := jsonOf(t, requests.Assemble("default", "v-02", records))
	records.Session = nil
	for i := range session {
		records.Session = append(records.Session, session[len(session)-1-i])
	}
	require.Equal(t, want, jsonOf(t, requests.Assemble("default", "v-02", records)))
}

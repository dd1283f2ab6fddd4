package requests_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest"
)

func at(us int64) time.Time { return time.UnixMicro(us).UTC() }

// keep stores the rows of requests: an earlier state of each, one at another start that is gone, and the last one.
func keep(t *testing.T, db *storagetest.DB, want map[string]*requests.Request) {
	t.Helper()
	for version := uint64(1); version <= 2; version++ {
		b := requests.Table.NewBatch()
		for _, r := range want {
			row := r.Row()
			row.Version = version
			moved := requests.Row{Tenant: row.Tenant, RequestID: row.RequestID, StartedAt: row.StartedAt + 7, Version: version, Gone: version == 2, State: row.State}
			if version == 1 {
				row.State, row.Model = "running", "m-early"
			}
			b.Append(&row)
			b.Append(&moved)
		}
		db.Insert(t, b)
	}
}

// Lists and the view give of each request the last row, whose scalars are Assemble's.
func TestRowsEqualAssemble(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	want, _ := stories(400)
	keep(t, db, want)
	check := func() {
		page, err := store.List(t.Context(), requests.Filter{Since: at(noon - 600*sec), Until: at(noon + 3600*sec), Limit: 1000})
		require.NoError(t, err)
		require.Len(t, page.Requests, len(want))
		for i, got := range page.Requests {
			w, err := json.Marshal(want[got.RequestID].Summary())
			require.NoError(t, err)
			g, err := json.Marshal(got)
			require.NoError(t, err)
			require.Equal(t, string(w), string(g))
			if i > 0 {
				require.GreaterOrEqual(t, page.Requests[i-1].StartedAt, got.StartedAt)
			}
		}
		rows, err := db.Conn.Query(t.Context(), `SELECT request_id, toUnixTimestamp64Micro(started_at), state, model, toInt64(ttft_us), toInt64(tokens), perceived_ttft_us, gap_us
			FROM joined_requests(tenant = 'default', since = '2000-01-01', until = '2100-01-01')`)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		n := 0
		for rows.Next() {
			n++
			var got requests.Summary
			var state string
			var model string
			require.NoError(t, rows.Scan(&got.RequestID, &got.StartedAt, &state, &model, &got.TTFTUS, &got.Tokens, &got.PerceivedTTFTUS, &got.GapUS))
			w := want[got.RequestID].Summary()
			require.Equal(t, []any{w.StartedAt, string(w.State), w.TTFTUS, w.Tokens, w.PerceivedTTFTUS, w.GapUS},
				[]any{got.StartedAt, state, got.TTFTUS, got.Tokens, got.PerceivedTTFTUS, got.GapUS})
		}
		require.NoError(t, rows.Err())
		require.Len(t, want, n)
	}
	check()
	require.NoError(t, db.Conn.Exec(t.Context(), "OPTIMIZE TABLE requests FINAL"))
	check()
}

func TestListFiltersAndPages(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	want := map[string]*requests.Request{}
	for i := range 25 {
		id := newID()
		want[id] = requests.Assemble("default", id, requests.Records{Streams: []wire.Stream{stream(id, 1, func(s *wire.Stream) {
			s.StartedAt = noon + int64(i/2)*200*sec // pairs start together
			s.Model = []string{"m-large", "m-small"}[i%2]
			if i%5 == 0 {
				s.Final, s.EndUS = false, wire.Opt[int64]{}
			}
		})}})
	}
	keep(t, db, want)
	all := requests.Filter{Since: at(noon - sec), Until: at(noon + 7200*sec)}

	seen := map[string]bool{}
	f := all
	f.Limit = 4
	last := int64(0)
	for pages := 1; ; pages++ {
		page, err := store.List(t.Context(), f)
		require.NoError(t, err)
		for _, r := range page.Requests {
			require.False(t, seen[r.RequestID], "listed twice")
			seen[r.RequestID] = true
			if last != 0 {
				require.LessOrEqual(t, r.StartedAt, last)
			}
			last = r.StartedAt
		}
		if page.NextCursor == "" {
			require.Equal(t, 7, pages)
			break
		}
		f.Cursor = page.NextCursor
	}
	require.Len(t, seen, 25)

	count := func(change func(*requests.Filter)) int {
		f := all
		change(&f)
		page, err := store.List(t.Context(), f)
		require.NoError(t, err)
		return len(page.Requests)
	}
	require.Zero(t, count(func(f *requests.Filter) { f.Model = "m-early" }), "no longer")
	require.Equal(t, 13, count(func(f *requests.Filter) { f.Model = "m-large" }))
	require.Equal(t, 5, count(func(f *requests.Filter) { f.State = requests.StateRunning }))
	require.Equal(t, 20, count(func(f *requests.Filter) { f.State = requests.StateCompleted }))
	require.Zero(t, count(func(f *requests.Filter) { f.Provider = "nobody" }))
	require.Zero(t, count(func(f *requests.Filter) { f.Tenant = "acme" }))
	require.Zero(t, count(func(f *requests.Filter) { f.Model = "' OR 1=1 --" }))
	require.Equal(t, 2, count(func(f *requests.Filter) { f.Until = at(noon + 200*sec) }))
}

func TestListRefusesABadFilter(t *testing.T) {
	store := requests.New(nil, requests.ReadLimits{})
	for name, f := range map[string]requests.Filter{
		"since":  {Since: at(noon), Until: at(noon)},
		"limit":  {Limit: 1001},
		"state":  {State: "done"},
		"cursor": {Cursor: "?"},
		"more":   {Since: at(noon), Until: at(noon + 40*24*3600*sec)},
	} {
		_, err := store.List(t.Context(), f)
		require.ErrorIs(t, err, requests.ErrBadFilter, name)
	}
}

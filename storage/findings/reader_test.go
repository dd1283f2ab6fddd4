package findings_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/storagetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestRowIsTheTable(t *testing.T) { storagetest.Columns(t, storagetest.New(t), findings.Table) }

const began = int64(1_780_000_000_000_000)

// stall makes a finding that began at second s.
func stall(request string, s int64) wire.Finding {
	f := wire.Finding{
		Kind: wire.FindingStall, Grade: "freeze", Tenant: wire.DefaultTenant, RequestID: request, Tier: wire.TierServer, Attempt: 1, Emitter: "engine",
		StartedAt: began + s*1_000_000, Channel: "content", Chunk: wire.Some[int64](5), StartUS: 250_000, DurationUS: 7_000_000, Open: true,
		Severity: "critical", Attribution: "engine", Confidence: 0.875, Evidence: json.RawMessage(`{"gaps":1}`), Revision: 10,
		Target: wire.Target{Provider: "p", Deployment: "d", Model: "m", ModelVersion: "v"}, QueryType: "short_qa",
	}
	f.ID = wire.FindingID(f.Kind, f.Tenant, f.RequestID, f.Tier, f.Attempt, f.Emitter, f.StartedAt, f.Channel, f.Chunk.V)
	return f
}

func insert(t *testing.T, db *storagetest.DB, fs ...wire.Finding) {
	t.Helper()
	b := findings.Table.NewBatch()
	for i := range fs {
		row := findings.FromWire(&fs[i], findings.OriginStream)
		b.Append(&row)
	}
	db.Insert(t, b)
}

func list(t *testing.T, r *findings.Reader, f findings.Filter) []findings.Finding {
	t.Helper()
	p, err := r.List(t.Context(), f)
	require.NoError(t, err)
	return p.Findings
}

func TestFindingComesBack(t *testing.T) {
	db := storagetest.New(t)
	r := findings.NewReader(db.Conn)
	require.Empty(t, list(t, r, findings.Filter{}))
	f := stall("a", 0)
	insert(t, db, f)
	got := list(t, r, findings.Filter{})
	require.Len(t, got, 1)
	b, err := json.Marshal(got[0])
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"id":%q,"kind":"stall","grade":"freeze","tenant":"default","request_id":"a","tier":"server","attempt":1,
		"emitter":"engine","channel":"content","chunk":5,"start_us":250000,"duration_us":7000000,"open":true,"severity":"critical",
		"attribution":"engine","confidence":0.875,"evidence":{"gaps":1},"started_at":%d,
		"target":{"provider":"p","deployment":"d","model":"m","model_version":"v"},"query_type":"short_qa"}`, f.ID, began), string(b))
}

// What is not known of a target is null, as in the request's own target.
func TestUnknownTargetIsNull(t *testing.T) {
	row := findings.Row{Model: "m"}
	b, err := json.Marshal(row.Finding().Target)
	require.NoError(t, err)
	require.JSONEq(t, `{"provider":null,"deployment":null,"model":"m","model_version":null}`, string(b))
}

// The state with the greatest revision holds, however often and in whatever order the states arrive.
func TestStatesOfOneFinding(t *testing.T) {
	db := storagetest.New(t)
	r := findings.NewReader(db.Conn)
	open := stall("a", 0)
	longer, closed, withdrawn := open, open, open
	longer.Revision, longer.DurationUS = 20, 9_000_000
	closed.Revision, closed.DurationUS, closed.Open = 31, 9_500_000, false
	withdrawn.Revision, withdrawn.Withdrawn, withdrawn.Open = 40, true, false
	for range 3 {
		insert(t, db, closed)
		insert(t, db, open, longer)
		insert(t, db, open)
		got := list(t, r, findings.Filter{RequestID: "a"})
		require.Len(t, got, 1)
		require.False(t, got[0].Open)
		require.EqualValues(t, 9_500_000, got[0].DurationUS)
	}
	of, err := r.OfRequest(t.Context(), wire.DefaultTenant, []string{"a", "b"})
	require.NoError(t, err)
	require.Len(t, of, 1)
	insert(t, db, withdrawn)
	insert(t, db, closed)
	require.Empty(t, list(t, r, findings.Filter{RequestID: "a"}))
	of, err = r.OfRequest(t.Context(), wire.DefaultTenant, []string{"a"})
	require.NoError(t, err)
	require.Empty(t, of)
	rows, err := r.Rows(t.Context(), wire.DefaultTenant, []string{"a"})
	require.NoError(t, err)
	require.Len(t, rows, 1, "what was withdrawn is still known")
	require.True(t, rows[0].Withdrawn)
}

func TestFilters(t *testing.T) {
	db := storagetest.New(t)
	r := findings.NewReader(db.Conn)
	loop := stall("c", 20)
	loop.Kind = wire.FindingLoop
	loop.ID = "loop"
	other := stall("a", 0)
	other.Tenant, other.ID = "acme", "other"
	insert(t, db, stall("a", 0), stall("b", 10), loop, other)
	requests := func(f findings.Filter) (out []string) {
		for _, x := range list(t, r, f) {
			out = append(out, x.RequestID)
		}
		return out
	}
	at := func(s int64) time.Time { return time.UnixMicro(began + s*1_000_000) }
	require.Equal(t, []string{"c", "b", "a"}, requests(findings.Filter{}))
	require.Equal(t, []string{"b", "a"}, requests(findings.Filter{Kind: "stall"}))
	require.Equal(t, []string{"b"}, requests(findings.Filter{RequestID: "b"}))
	require.Equal(t, []string{"c", "b"}, requests(findings.Filter{Since: at(5)}))
	require.Equal(t, []string{"a"}, requests(findings.Filter{Until: at(5)}))
	require.Equal(t, []string{"b"}, requests(findings.Filter{Since: at(5), Until: at(15)}))
	require.Equal(t, []string{"a"}, requests(findings.Filter{Tenant: "acme"}))
	for _, bad := range []findings.Filter{{Limit: -1}, {Limit: findings.MaxLimit + 1}, {Cursor: "x"}, {Cursor: "eA"}, {Since: at(5), Until: at(5)}} {
		_, err := r.List(t.Context(), bad)
		require.ErrorIs(t, err, findings.ErrBadFilter)
	}
}

// Pages together are the whole, once each, also when many findings began at one instant.
func TestPages(t *testing.T) {
	db := storagetest.New(t)
	r := findings.NewReader(db.Conn)
	rng := rand.New(rand.NewPCG(1, 2))
	var all []wire.Finding
	for i := range 137 {
		all = append(all, stall(fmt.Sprintf("r%03d", i), rng.Int64N(8)))
	}
	insert(t, db, all...)
	insert(t, db, all[:50]...)
	seen := map[string]bool{}
	last := int64(1 << 60)
	f := findings.Filter{Limit: 10}
	pages := 0
	for {
		p, err := r.List(t.Context(), f)
		require.NoError(t, err)
		pages++
		for _, x := range p.Findings {
			require.False(t, seen[x.ID])
			seen[x.ID] = true
			require.LessOrEqual(t, x.StartedAt+x.StartUS, last)
			last = x.StartedAt + x.StartUS
		}
		if p.NextCursor == "" {
			break
		}
		f.Cursor = p.NextCursor
	}
	require.Len(t, seen, len(all))
	require.Equal(t, 14, pages)

	// A page cut from findings in memory is the same page.
	whole := list(t, r, findings.Filter{Limit: findings.MaxLimit})
	rng.Shuffle(len(whole), func(i, j int) { whole[i], whole[j] = whole[j], whole[i] })
	for _, f := range []findings.Filter{{}, {Limit: 7}, {Kind: "loop"}, {Since: time.UnixMicro(began + 3_000_000), Until: time.UnixMicro(began + 5_000_000)}} {
		want, err := r.List(t.Context(), f)
		require.NoError(t, err)
		got, err := findings.Select(whole, f)
		require.NoError(t, err)
		require.Equal(t, want, got)
		f.Cursor = want.NextCursor
		if f.Cursor != "" {
			want, err = r.List(t.Context(), f)
			require.NoError(t, err)
			got, err = findings.Select(whole, f)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// A request with very many findings hides none of another that is asked for with it, and shows its latest.
func TestManyFindingsOfOneRequest(t *testing.T) {
	db := storagetest.New(t)
	r := findings.NewReader(db.Conn)
	var all []wire.Finding
	for i := range int64(findings.MaxOfRequest + 10) {
		all = append(all, stall("many", i))
	}
	all = append(all, stall("one", findings.MaxOfRequest+1000))
	insert(t, db, all...)
	// Neither those that were withdrawn nor those of a join take their places, or lose theirs.
	b := findings.Table.NewBatch()
	for i := range int64(findings.MaxOfRequest) {
		f := stall("many", findings.MaxOfRequest+10+i)
		f.Withdrawn = true
		row := findings.FromWire(&f, findings.OriginStream)
		b.Append(&row)
	}
	waste := stall("many", -5)
	waste.Kind, waste.ID = wire.FindingCancelWaste, "waste"
	row := findings.FromWire(&waste, findings.OriginJoin)
	b.Append(&row)
	db.Insert(t, b)
	rows, err := r.Rows(t.Context(), wire.DefaultTenant, []string{"many", "one"})
	require.NoError(t, err)
	require.Equal(t, "waste", rows[0].ID)
	rows = slices.DeleteFunc(rows[1:], func(row findings.Row) bool { return row.Withdrawn })
	require.Len(t, rows, findings.MaxOfRequest+1)
	require.Equal(t, "one", rows[findings.MaxOfRequest].RequestID)
	require.EqualValues(t, began+10*1_000_000+250_000, rows[0].At)
}

package requests_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/aliases"
	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/streams"
)

// ids numbers the requests of all tests, so that they don't meet in one database.
var ids atomic.Int64

func newID() string { return fmt.Sprintf("r-%d", ids.Add(1)) }

// insert stores records in as many inserts as parts says, so that merges and reads have something to do.
func insert(t storagetest.Fataler, db *storagetest.DB, rec requests.Records, parts int) {
	t.Helper()
	for p := range parts {
		s, g, c, a := streams.Table.NewBatch(), gateways.Table.NewBatch(), clients.Table.NewBatch(), aliases.Table.NewBatch()
		var names []aliases.Row
		for i := p; i < len(rec.Streams); i += parts {
			var row streams.Row
			streams.FromWire(&rec.Streams[i], &row)
			s.Append(&row)
			names = aliases.AppendStream(names, &rec.Streams[i])
		}
		for i := p; i < len(rec.Gateways); i += parts {
			row := gateways.FromWire(&rec.Gateways[i])
			g.Append(&row)
			names = aliases.AppendGateway(names, &rec.Gateways[i])
		}
		for i := p; i < len(rec.Clients); i += parts {
			row := clients.FromWire(&rec.Clients[i])
			c.Append(&row)
			names = aliases.AppendClient(names, &rec.Clients[i])
		}
		for i := range names {
			a.Append(&names[i])
		}
		for _, b := range []storagetest.Batch{c, g, s, a} {
			db.Insert(t, b)
		}
	}
}

// stories draws n requests, and their records as they are delivered.
func stories(n int) (want map[string]*requests.Request, all requests.Records) {
	want = map[string]*requests.Request{}
	for i := range n {
		id := newID()
		rec := rapid.Custom(func(t *rapid.T) requests.Records { return story(t, id) }).Example(i)
		want[id] = requests.Assemble("default", id, rec)
		rec = rapid.Custom(func(t *rapid.T) requests.Records { return delivered(t, rec) }).Example(i)
		all.Streams = append(all.Streams, rec.Streams...)
		all.Gateways = append(all.Gateways, rec.Gateways...)
		all.Clients = append(all.Clients, rec.Clients...)
	}
	return want, all
}

// The engine's answer is Assemble's, whatever the order and number of deliveries, before a merge and after.
func TestRequestEqualsAssembleThroughTheEngine(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	want, rec := stories(120)
	insert(t, db, rec, 5)
	check := func() {
		for id, r := range want {
			got, err := store.Request(t.Context(), "default", id)
			require.NoError(t, err)
			require.Equal(t, jsonOf(t, r), jsonOf(t, got))
		}
	}
	check()
	for _, table := range []string{"streams", "gateways", "clients"} {
		require.NoError(t, db.Conn.Exec(t.Context(), "OPTIMIZE TABLE "+table+" FINAL"))
	}
	check()
}

func TestRequestIsFoundByItsOtherNames(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	trace, shared := strings.Repeat("ab", 16), strings.Repeat("cd", 16)
	tap := stream("r-main", 1, func(s *wire.Stream) { s.ResponseID, s.TraceID, s.Aliases = "chatcmpl-1", trace, []string{"call-9"} })
	engine := stream("chatcmpl-1", 1, func(s *wire.Stream) { s.Emitter, s.QueueUS = "vllm", wire.Some(5*ms); s.StartedAt += ms })
	page := wire.Client{Tenant: "default", SessionID: "s", ResponseID: "chatcmpl-1", Submit: wire.Some(sec), ReceivedAt: noon, Final: true}
	others := []wire.Stream{
		stream("r-a", 1, func(s *wire.Stream) { s.TraceID = shared }), stream("r-b", 1, func(s *wire.Stream) { s.TraceID = shared }),
	}
	insert(t, db, requests.Records{Streams: append(others, tap, engine), Clients: []wire.Client{page}}, 2)

	want, err := store.Request(t.Context(), "default", "r-main")
	require.NoError(t, err)
	require.Len(t, want.Attempts, 1)
	require.Equal(t, "vllm", *want.Attempts[0].OtherStreams[0].Emitter)
	require.NotNil(t, want.Client, "the page knew only the response id")
	require.Equal(t, []string{trace, "call-9", "chatcmpl-1"}, want.Aliases)
	for _, name := range []string{"chatcmpl-1", "call-9", trace} {
		got, err := store.Request(t.Context(), "default", name)
		require.NoError(t, err, name)
		require.Equal(t, jsonOf(t, want), jsonOf(t, got), name)
	}
	for _, name := range []string{shared, "nobody", "r-mai", "'; DROP TABLE streams"} {
		_, err := store.Request(t.Context(), "default", name)
		require.ErrorIs(t, err, requests.ErrNotFound, name)
	}
	var several *requests.AmbiguousError
	_, err = store.Request(t.Context(), "default", shared)
	require.ErrorAs(t, err, &several)
	require.Equal(t, []string{"r-a", "r-b"}, several.Requests)
	require.False(t, several.More)
	_, err = store.Request(t.Context(), "acme", "r-main")
	require.ErrorIs(t, err, requests.ErrNotFound, "another tenant's request")
}

package joiner

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// An insert into a table that is not joined holds nothing up, however long it runs.
func TestOthersInsertsHoldNothingUp(t *testing.T) {
	r := newRig(t)
	require.NoError(t, r.conn.Exec(t.Context(), "CREATE TABLE others (x UInt64) ENGINE = MergeTree ORDER BY x"))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- r.conn.Exec(ctx, `INSERT INTO others SELECT number FROM numbers(1000) WHERE sleepEachRow(0.05) = 0
			SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0`)
	}()
	require.Eventually(t, func() bool {
		var n uint64
		require.NoError(t, r.conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND elapsed > 2").Scan(&n))
		return n > 0
	}, 20*time.Second, 20*time.Millisecond)
	m, err := r.w.moment(t.Context())
	require.NoError(t, err)
	require.Equal(t, m.us/1_000_000, m.safe)
	require.Equal(t, m.safe, m.due)
	stop()
	require.Error(t, <-done)
}

// A clock that was set back stamps rows with seconds that were joined before: they are looked at once more.
func TestClockSetBack(t *testing.T) {
	var told []string
	w := &worker{cfg: NewDefaultConfig(), memory: newMemory(1), warn: func(s string) { told = append(told, s) }}
	at := func(s int64) moment { return moment{us: s * 1_000_000, safe: s, due: s} }
	w.from, w.saved, w.eventsFrom, w.now = 1000, 990, 1000, 1001
	w.follow(at(1001), 1000, time.Second)
	require.EqualValues(t, 1000, w.from)
	require.Empty(t, told)

	w.now = 400 // set back by ten minutes since the look half a second ago
	w.follow(at(400), 1001, 500*time.Millisecond)
	require.EqualValues(t, 399, w.from)
	require.EqualValues(t, 399, w.saved)
	require.EqualValues(t, 399, w.handled())
	require.Len(t, told, 1)

	// Stored progress lies ahead of a clock that was set back while nobody looked.
	w.from, w.saved, w.eventsFrom, w.now = 100_000, 100_000, 100_000, 90_000
	w.follow(at(90_000), 0, 0)
	require.EqualValues(t, 90_000-unknownStep, w.from)
}

// Servers that others insert through are given time, unless the configuration says how much.
func TestLagOfSeveralServers(t *testing.T) {
	w := &worker{cfg: NewDefaultConfig(), servers: 1}
	require.Zero(t, w.lagOf())
	w.servers = 2
	require.Equal(t, otherLag, w.lagOf())
	w.cfg.Lag = time.Second
	require.Equal(t, time.Second, w.lagOf())
}

// What a failed look read is dropped, so that trying again and again takes no more memory.
func TestForget(t *testing.T) {
	m := newMemory(1 << 20)
	h := m.get(name{"t", "a"})
	empty := m.bytes
	for range 3 {
		m.add(h, requests.Records{Streams: []wire.Stream{{RequestID: "a", Tenant: "t", Tier: wire.TierServer, ResponseID: "chatcmpl-1", StartedAt: 7}}})
		h.whole = true
		require.Greater(t, m.bytes, empty)
		m.forget(h)
		require.Equal(t, empty, m.bytes)
		require.Empty(t, m.owners)
		require.False(t, h.whole)
		require.EqualValues(t, 7, h.first, "when it began is known still")
	}
}

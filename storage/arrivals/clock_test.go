package arrivals

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// slow inserts rows into a table, and returns once that has been running for two seconds, and what ends it.
func slow(t *testing.T, conn driver.Conn, table string) (stop func()) {
	t.Helper()
	require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf("CREATE TABLE %s (x UInt64, inserted_at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY x", table)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- conn.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (x) SELECT number FROM numbers(1000) WHERE sleepEachRow(0.05) = 0
			SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0`, table))
	}()
	require.Eventually(t, func() bool {
		var n uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND elapsed > 2").Scan(&n))
		return n > 0
	}, 2*time.Minute, 20*time.Millisecond)
	return func() {
		cancel()
		require.Error(t, <-done)
	}
}

// An insert that runs holds up those who read its table, and nobody else.
func TestInsertsHoldUpWhoReadsThem(t *testing.T) {
	e := enginetest.Start(t)
	conn := e.Open(t, e.NewDatabase(t))
	defer slow(t, conn, "streams")()
	reads := func(tables ...string) Moment {
		m, err := New(conn, Options{Tables: tables}).Now(t.Context())
		require.NoError(t, err)
		require.Equal(t, m.Second(), m.Due)
		return m
	}
	m := reads("gateways", "streams")
	require.LessOrEqual(t, m.Safe, m.Second()-2)
	m = reads("gateways", "stream")
	require.Equal(t, m.Second(), m.Safe)
}

// A user who may not see what others run is given time instead.
func TestBlind(t *testing.T) {
	e := enginetest.Start(t)
	conn := e.Open(t, e.NewDatabase(t))
	var told []string
	c := New(conn, Options{Tables: []string{"streams"}, Warn: func(s string) { told = append(told, s) }})
	c.blind = true
	m, err := c.Now(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, OtherLag.Seconds(), m.Second()-m.Safe)
	require.Empty(t, told)
}

// A clock that was set back stamps rows with seconds that were read before: they are read once more.
func TestSetBack(t *testing.T) {
	var told []string
	c := New(nil, Options{Warn: func(s string) { told = append(told, s) }})
	start := time.Now()
	at := func(s int64, asked time.Duration) {
		c.tick(Moment{US: s * 1_000_000, Safe: s, Due: s}, start.Add(asked))
	}
	at(1000, 0)
	require.EqualValues(t, 990, c.Resume(990))
	at(1001, time.Second)
	require.EqualValues(t, 1000, c.Resume(1000))
	require.Empty(t, told)
	at(400, 1500*time.Millisecond) // by ten minutes since
	require.EqualValues(t, 399, c.Resume(1000))
	require.Len(t, told, 1)

	// A stored position lies ahead of a clock that was set back while nobody looked.
	c = New(nil, Options{})
	at(90_000, 0)
	require.EqualValues(t, 90_000-unknownStep, c.Resume(100_000))
}

// Servers that others insert through are given time, unless the configuration says how much.
func TestLagOfSeveralServers(t *testing.T) {
	require.Zero(t, New(nil, Options{Servers: 1}).lag())
	require.Equal(t, OtherLag, New(nil, Options{Servers: 2}).lag())
	require.Equal(t, time.Second, New(nil, Options{Servers: 2, Lag: time.Second}).lag())
}

func TestSettled(t *testing.T) {
	e := enginetest.Start(t)
	c := New(e.Open(t, e.NewDatabase(t)), Options{Tables: []string{"streams"}})
	before, err := c.Now(t.Context())
	require.NoError(t, err)
	m, err := c.Settled(t.Context())
	require.NoError(t, err)
	require.Greater(t, m.Safe, before.Second())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Settled(ctx)
	require.Error(t, err)
}

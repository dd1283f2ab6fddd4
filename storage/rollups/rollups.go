package rollups

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/arrivals"
)

var (
	//go:embed queries/dirty.sql
	dirtySQL string
	//go:embed queries/icl_refresh.sql
	iclRefreshSQL string
	//go:embed queries/icl_by_model.sql
	iclByModelSQL string
)

const (
	// maxMinutes bounds the minutes that one statement computes anew, and so its time.
	maxMinutes = 10
	// maxModels bounds the rows of an answer.
	maxModels = 1000
)

// Store keeps and reads the rollups. It is safe for concurrent use, but two processes that refresh at once do
// the work twice.
type Store struct {
	conn driver.Conn
}

// New returns a Store that works through conn, whose default database holds the tables.
func New(conn driver.Conn) *Store { return &Store{conn: conn} }

func limited(ctx context.Context, name string, readonly int) context.Context {
	s := clickhouse.Settings{
		"max_execution_time": 60, "max_memory_usage": int64(1 << 30), "log_comment": "fermata." + name, "readonly": readonly,
	}
	if readonly == 0 {
		// A minute may hold more gaps than fit: what is grouped goes to disk instead. Of each part that FINAL reads a block is in
		// memory, of rows that hold arrays: with a server's default of 65 000 rows these were two thirds of all that was.
		s["max_bytes_before_external_group_by"], s["max_block_size"] = int64(128<<20), 2048
		s["insert_deduplicate"] = 0 // as clickhouse.Inserter does
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(s))
}

// microForm is the form of an instant that a query parameter takes, to the microsecond.
const microForm = "2006-01-02 15:04:05.000000"

type minute struct {
	tenant string
	at     time.Time
}

// Clock returns what tells up to which second of arrival Refresh may read.
func Clock(conn driver.Conn, servers int, lag time.Duration, warn func(text string)) *arrivals.Clock {
	return arrivals.New(conn, arrivals.Options{Tables: []string{"streams"}, Lag: lag, Servers: servers, Warn: warn})
}

// Refresh computes anew every minute that got a record between second from of arrival and the moment's safe one and is not
// known to hold it, and returns how many minutes those were. Where Refresh of an earlier moment came to an end, from may be its
// safe second. Calling it again without new records does nothing.
func (s *Store) Refresh(ctx context.Context, from int64, m arrivals.Moment) (int, error) {
	done := map[minute]bool{}
	for {
		dirty, last, err := s.dirty(ctx, from, m.Safe)
		if err != nil {
			return len(done), err
		}
		var todo []minute
		for _, m := range dirty {
			if !done[m] {
				done[m] = true
				todo = append(todo, m)
			}
		}
		if len(todo) == 0 {
			return len(done), nil
		}
		// Later than the generation before, also where the clock was set back.
		generation := time.UnixMicro(max(m.US, last+1))
		for len(todo) > 0 {
			n := min(len(todo), maxMinutes)
			if err := s.compute(ctx, todo[:n], generation, m.Safe); err != nil {
				return len(done), err
			}
			todo = todo[n:]
		}
	}
}

// dirty lists minutes to compute, and the greatest generation of them, µs since the Unix epoch.
func (s *Store) dirty(ctx context.Context, from, until int64) (out []minute, last int64, err error) {
	const most = 10_000
	rs, err := s.conn.Query(limited(ctx, "rollup_dirty", 2), dirtySQL,
		clickhouse.Named("from", max(0, from)), clickhouse.Named("until", until), clickhouse.Named("limit", uint32(most)))
	if err != nil {
		return nil, 0, fmt.Errorf("find minutes to compute: %w", err)
	}
	defer func() { _ = rs.Close() }() // its error is that of Err
	for rs.Next() {
		var m minute
		var generation int64
		if err := rs.Scan(&m.tenant, &m.at, &generation); err != nil {
			return nil, 0, fmt.Errorf("find minutes to compute: %w", err)
		}
		m.at = m.at.UTC()
		out, last = append(out, m), max(last, generation)
	}
	if err := rs.Err(); err != nil {
		return nil, 0, fmt.Errorf("find minutes to compute: %w", err)
	}
	return out, last, nil
}

// compute replaces minutes, which ascend, by what is read now; everything that arrived before a second is.
func (s *Store) compute(ctx context.Context, ms []minute, generation time.Time, readBefore int64) error {
	tenants, minutes := make([]string, len(ms)), make([]uint32, len(ms))
	for i, m := range ms {
		tenants[i], minutes[i] = m.tenant, uint32(m.at.Unix()) //nolint:gosec // until 2106
	}
	err := s.conn.Exec(limited(ctx, "rollup_icl", 0), iclRefreshSQL,
		clickhouse.Named("first", ms[0].at.Format(microForm)), clickhouse.Named("last", ms[len(ms)-1].at.Format(microForm)),
		clickhouse.Named("tenants", tenants), clickhouse.Named("minutes", minutes),
		clickhouse.Named("broken", slices.Concat(wire.UserAborts(), wire.FailedReasons())), // reasons of streams that are not complete
		clickhouse.Named("lost", uint32(wire.SeqLost)), clickhouse.Named("read_before", readBefore),
		clickhouse.Named("generation", generation.UTC().Format(microForm)))
	if err != nil {
		return fmt.Errorf("compute minutes: %w", err)
	}
	return nil
}

// ICL is the inter-chunk latency of one model's streams that started in a window. Quantiles are in µs, within
// 0.5 % of the exact ones.
type ICL struct {
	Model              string
	Streams            uint64 // attempts with a server stream
	Chunks             uint64 // content-bearing
	MaxGapUS           uint32
	P50, P90, P95, P99 float64
}

// ICLByModel returns the inter-chunk latency by model of the whole minutes in [since, until).
func (s *Store) ICLByModel(ctx context.Context, tenant string, since, until time.Time) ([]ICL, error) {
	rs, err := s.conn.Query(limited(ctx, "icl_by_model", 2), iclByModelSQL,
		clickhouse.Named("tenant", tenant), clickhouse.Named("since", since.UTC().Format(time.DateTime)),
		clickhouse.Named("until", until.UTC().Format(time.DateTime)), clickhouse.Named("limit", uint32(maxModels)))
	if err != nil {
		return nil, fmt.Errorf("query icl_by_model: %w", err)
	}
	defer func() { _ = rs.Close() }() // its error is that of Err
	var out []ICL
	for rs.Next() {
		var r ICL
		var q []float64
		if err := rs.Scan(&r.Model, &r.Streams, &r.Chunks, &r.MaxGapUS, &q); err != nil {
			return nil, fmt.Errorf("query icl_by_model: %w", err)
		}
		if len(q) == 4 {
			r.P50, r.P90, r.P95, r.P99 = q[0], q[1], q[2], q[3]
		}
		out = append(out, r)
	}
	if err := rs.Err(); err != nil {
		return nil, fmt.Errorf("query icl_by_model: %w", err)
	}
	return out, nil
}

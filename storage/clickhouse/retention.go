package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Retention says how long each class of data is kept, in whole days from the record's own time or from its arrival,
// whichever is later. 0 keeps for ever.
type Retention struct {
	// Chunks is the age at which the chunk arrays of a stream are dropped; its scalars stay. Default 14 days.
	Chunks time.Duration `mapstructure:"chunks"`
	// Requests is the age at which everything else about a request is dropped. Default 42 days.
	Requests time.Duration `mapstructure:"requests"`
	// Findings is the age at which findings are dropped. Default 365 days.
	Findings time.Duration `mapstructure:"findings"`
}

// NewDefaultRetention returns the defaults.
func NewDefaultRetention() Retention {
	return Retention{Chunks: 14 * day, Requests: 42 * day, Findings: 365 * day}
}

const day = 24 * time.Hour

// Validate reports every problem, each with its key.
func (r *Retention) Validate() error {
	var errs []error
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"chunks", r.Chunks}, {"requests", r.Requests}, {"findings", r.Findings}} {
		switch {
		case d.v < 0:
			errs = append(errs, fmt.Errorf("%s: %s is negative; 0 keeps for ever", d.key, d.v))
		case d.v%day != 0:
			errs = append(errs, fmt.Errorf("%s: %s is not whole days (24h, 48h, …)", d.key, d.v))
		}
	}
	if r.Requests > 0 && r.Chunks > r.Requests {
		errs = append(errs, fmt.Errorf("chunks: %s is longer than requests (%s)", r.Chunks, r.Requests))
	}
	return errors.Join(errs...)
}

// retained is what retention must know of a table: the time its rows age by, how long they are kept, and its chunk arrays.
type retained struct {
	table, at string
	arrived   string // the day of arrival
	keep      func(*Retention) time.Duration
	arrays    []string
}

func keepRequests(r *Retention) time.Duration { return r.Requests }

func keepFindings(r *Retention) time.Duration { return r.Findings }

var retainedTables = []retained{
	{"streams", "started_at", "toDate(inserted_at)", keepRequests, []string{"gaps_us", "bytes", "tokens", "kind_runs", "chunk_detail"}},
	{"gateways", "received_at", "toDate(inserted_at)", keepRequests, nil},
	{"clients", "received_at", "toDate(inserted_at)", keepRequests, []string{
		"recv_gaps_us", "recv_bytes", "recv_kind_runs", "dom_gaps_us", "dom_bytes", "paint_gaps_us", "paint_bytes",
	}},
	{"aliases", "seen_at", "arrived_on", keepRequests, nil},
	{"requests", "started_at", "arrived_on", keepRequests, nil},
	{"session_clocks", "started_at", "arrived_on", keepRequests, nil},
	{"findings", "at", "arrived_on", keepFindings, nil},
}

// ApplyRetention makes the tables' TTLs what r says. It alters only what differs, so that it may run at every start. Data
// that is too old goes with the next merges, which ClickHouse runs in the background. The age is counted in days, as the
// tables are partitioned, so that all of a day's parts expire together and are dropped whole.
func ApplyRetention(ctx context.Context, conn driver.Conn, r Retention) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	// Set what is to be without rewriting parts now; merges get to it.
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"materialize_ttl_after_modify": 0}))
	for _, t := range retainedTables {
		ddl, err := tableDDL(ctx, conn, t.table)
		if err != nil {
			return err
		}
		for _, alter := range t.alters(ddl, r) {
			if err := conn.Exec(ctx, alter); err != nil {
				return fmt.Errorf("retention: %s: %w", t.table, err)
			}
		}
	}
	return nil
}

func tableDDL(ctx context.Context, conn driver.Conn, table string) (string, error) {
	var ddl string
	err := conn.QueryRow(ctx, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = {table:String}",
		clickhouse.Named("table", table)).Scan(&ddl)
	if err != nil {
		return "", fmt.Errorf("retention: read table %s: %w", table, err)
	}
	return ddl, nil
}

// alters returns the statements that bring a table with this CREATE statement to r.
func (t retained) alters(ddl string, r Retention) []string {
	columns, engine := splitDDL(ddl)
	var out []string
	rows := t.keep(&r)
	switch want := t.ttl(rows); want {
	case ttlOf(engine): // as it should be
	case "":
		out = append(out, "ALTER TABLE "+t.table+" REMOVE TTL")
	default:
		out = append(out, "ALTER TABLE "+t.table+" MODIFY TTL "+want)
	}
	chunks := r.Chunks
	if chunks == rows {
		chunks = 0 // the row goes then
	}
	want := t.ttl(chunks)
	var changes []string
	for _, c := range t.arrays {
		switch want {
		case ttlOf(columns[c]): // as it should be
		case "":
			changes = append(changes, "MODIFY COLUMN "+c+" REMOVE TTL")
		default:
			changes = append(changes, "MODIFY COLUMN "+c+" TTL "+want)
		}
	}
	if len(changes) > 0 {
		out = append(out, "ALTER TABLE "+t.table+" "+strings.Join(changes, ", "))
	}
	return out
}

// ttl is the expression as ClickHouse itself writes it.
func (t retained) ttl(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("greatest(toDate(%s), %s) + toIntervalDay(%d)", t.at, t.arrived, d/day)
}

// splitDDL splits a CREATE statement as ClickHouse formats it into the columns' definitions and what follows them.
func splitDDL(ddl string) (columns map[string]string, engine string) {
	columns = map[string]string{}
	_, body, _ := strings.Cut(ddl, " (")
	body, engine, _ = strings.Cut(body, ") ENGINE = ")
	for _, def := range strings.Split(body, ", `") {
		name, def, _ := strings.Cut(strings.TrimPrefix(def, "`"), "` ")
		columns[name] = def
	}
	return columns, engine
}

// ttlOf returns the TTL expression of a column's or table's definition; "" when it has none. Comments come after a
// quote, and hold no " TTL ".
func ttlOf(def string) string {
	_, ttl, ok := strings.Cut(def, " TTL ")
	if !ok {
		return ""
	}
	for _, end := range []string{" SETTINGS ", " COMMENT "} {
		ttl, _, _ = strings.Cut(ttl, end)
	}
	return strings.TrimSpace(ttl)
}

package arrivals

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	db "github.com/fermata-io/fermata/storage/clickhouse"
)

//go:embed queries/clock.sql
var clockSQL string

// accessDenied is ClickHouse's code for a user who may not read a table.
const accessDenied = 497

// OtherLag is how long inserts are given of which the database does not tell: longer than the exporter gives them itself.
const OtherLag = 65 * time.Second

// unknownStep is how far is looked back, s, when the database's clock turns out to have been set back while nobody looked.
const unknownStep = 3600

// Options say whose arrivals are asked for.
type Options struct {
	// Tables are read; inserts into others hold nothing up.
	Tables []string
	// Lag is how long after its stamp a row is looked at, beyond the inserts that the database tells of: those that other servers
	// of a cluster run. 0: none, or OtherLag where there are several Servers.
	Lag time.Duration
	// Servers is how many servers rows may be inserted through.
	Servers int
	// Warn is told what an administrator should know. nil: nobody is.
	Warn func(text string)
}

// Moment is what the database's clock says.
type Moment struct {
	US   int64 // now, µs since the Unix epoch
	Safe int64 // rows stamped before this second are visible, whoever inserts them; seconds since the Unix epoch
	Due  int64 // the second up to which rows would be safe if no insert ran
}

// Second is the whole second of now.
func (m Moment) Second() int64 { return m.US / 1_000_000 }

// Clock tells which arrivals are complete. It is for one goroutine.
type Clock struct {
	conn    driver.Conn
	opts    Options
	inserts string // what an insert that counts looks like
	blind   bool   // other users' inserts can't be seen

	last Moment
	at   time.Time     // when last was asked for
	prev int64         // the second of the moment before; 0: none
	ago  time.Duration // how long before
}

// New makes a Clock that asks through conn, whose default database holds the tables.
func New(conn driver.Conn, opts Options) *Clock {
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	return &Clock{conn: conn, opts: opts, inserts: `(?i)insert\s+into\s+\S*\b(` + strings.Join(opts.Tables, "|") + `)\b`}
}

// Now reads the clock. Nothing since the start of the longest insert that runs is safe. Where the database's user may not see
// what runs, nothing is until OtherLag has passed.
func (c *Clock) Now(ctx context.Context) (Moment, error) {
	asked := time.Now()
	var us int64
	var longest float64
	lag := c.lag()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_execution_time": 60, "log_comment": "arrivals.clock", "readonly": 2,
	}))
	if !c.blind {
		err := c.conn.QueryRow(ctx, clockSQL, clickhouse.Named("inserts", c.inserts)).Scan(&us, &longest)
		if code, ok := db.Code(err); ok && code == accessDenied {
			c.blind = true
			c.opts.Warn("the database user may not read system.processes: what arrives is looked at a minute late; grant it SELECT on that table")
		} else if err != nil {
			return Moment{}, fmt.Errorf("clock: %w", err)
		}
	}
	if c.blind {
		lag = max(lag, OtherLag)
		if err := c.conn.QueryRow(ctx, "SELECT toUnixTimestamp64Micro(now64(6))").Scan(&us); err != nil {
			return Moment{}, fmt.Errorf("clock: %w", err)
		}
	}
	m := Moment{
		US: us, Safe: (us - int64(longest*1e6) - lag.Microseconds()) / 1_000_000, Due: (us - lag.Microseconds()) / 1_000_000,
	}
	c.tick(m, asked)
	return m, nil
}

// tick takes over what the clock says.
func (c *Clock) tick(m Moment, asked time.Time) {
	c.prev, c.ago = c.last.Second(), asked.Sub(c.at)
	c.last, c.at = m, asked
}

// lag is the configured lag, or where there are several servers and none is configured, enough for the inserts of the others and
// for clocks that differ a little.
func (c *Clock) lag() time.Duration {
	if c.opts.Lag == 0 && c.opts.Servers > 1 {
		return OtherLag
	}
	return c.opts.Lag
}

// Resume returns the second from which on to read: from, before which all has been read, or an earlier one where the database's
// clock was set back since the last Now. Rows are then stamped with seconds that were read already.
func (c *Clock) Resume(from int64) int64 {
	back := from
	switch {
	case c.prev > 0 && c.last.Second() < c.prev:
		back = c.last.Safe - int64(c.ago.Seconds()) - 1
	case from > c.last.Second():
		back = c.last.Safe - unknownStep
	}
	if back >= from {
		return from
	}
	c.opts.Warn("the database's clock was set back; what arrived since is looked at once more")
	return back
}

// Settled waits until all that has arrived by now is safe to read, and returns that moment.
func (c *Clock) Settled(ctx context.Context) (Moment, error) {
	m, err := c.Now(ctx)
	for until := m.Second(); err == nil && m.Safe <= until; m, err = c.Now(ctx) {
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return m, err
}

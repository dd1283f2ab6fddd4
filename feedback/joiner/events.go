package joiner

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
	"github.com/fermata-io/fermata/storage/findings"
)

// source is what an event is one of: the streams of one emitter and target.
type source struct {
	tenant, emitter, provider, deployment, model string
}

// event is a silence that several streams of one source share, as it stands in the evidence of each of their stalls.
type event struct {
	ID       string   `json:"id"`
	FromUS   int64    `json:"from_us"` // instants on the emitter's clock
	UntilUS  int64    `json:"until_us"`
	Streams  int      `json:"streams"`
	Requests []string `json:"requests"` // at most maxNamed
	// Waiting are requests whose first chunk came when the silence ended: a newcomer's prefill often is the cause.
	Waiting []string `json:"waiting"`
}

// maxNamed bounds the requests that an event names.
const maxNamed = 32

// around is how far from a new stall others of its event may have begun, µs.
const around = 60 * 1_000_000

// alike bounds the time, µs, between the silences of sources whose stalls are asked for together.
const alike = 5 * around

// Rows of one answer: sources with new stalls, stalls. Where there are more, the next are asked for.
const (
	sourceRows = 1000
	stallRows  = 50_000
)

// silence is when a source's new stalls were.
type silence struct {
	source
	from, until int64 // instants on the emitter's clock, µs
}

// events looks at the silences that were told since a second for others at the same time.
func (w *worker) events(ctx context.Context, since int64) error {
	for last := (source{}); ; {
		var fresh []silence
		err := w.query(ctx, "new stalls", newStallsSQL, func(rows driver.Rows) error {
			var s silence
			err := rows.Scan(&s.tenant, &s.emitter, &s.provider, &s.deployment, &s.model, &s.from, &s.until)
			last, fresh = s.source, append(fresh, s)
			return err
		}, append(last.args(), clickhouse.Named("from", since), clickhouse.Named("limit", uint32(w.sourceRows)))...) //nolint:gosec // a small limit
		if err != nil {
			return err
		}
		n := len(fresh)
		for len(fresh) > 0 {
			var group []silence
			group, fresh = atOnce(fresh)
			if err := w.together(ctx, group); err != nil {
				return err
			}
		}
		if n < w.sourceRows {
			return nil
		}
	}
}

func (s source) args() []any {
	return []any{
		clickhouse.Named("tenant", s.tenant), clickhouse.Named("emitter", s.emitter), clickhouse.Named("provider", s.provider),
		clickhouse.Named("deployment", s.deployment), clickhouse.Named("model", s.model),
	}
}

// atOnce takes from silences those that were at about the time of the first; one that went on for long is alone.
func atOnce(all []silence) (group, rest []silence) {
	from, until := all[0].from, all[0].until
	for _, s := range all {
		f, u := min(from, s.from), max(until, s.until)
		if len(group) > 0 && u-f > alike {
			rest = append(rest, s)
			continue
		}
		group, from, until = append(group, s), f, u
	}
	return group, rest
}

// together marks the stalls of sources, at the time of their silences, that are one event. It reads them a page at a time, each
// with the rows before it that may be of one event with its first: those of the same source and the last minute, and no more than a
// page of them, so that an event of more than two pages becomes several.
func (w *worker) together(ctx context.Context, group []silence) error {
	var names [5][]string
	from, until := group[0].from, group[0].until
	for _, s := range group {
		from, until = min(from, s.from), max(until, s.until)
		for i, v := range [...]string{s.tenant, s.emitter, s.provider, s.deployment, s.model} {
			names[i] = append(names[i], v)
		}
	}
	var rows []findings.Row
	for last := (findings.Row{}); ; {
		sc, fresh := findings.Table.NewScanner(), 0
		err := w.query(ctx, "stalls", findings.Statement(stallsSQL), func(rs driver.Rows) error {
			row, err := sc.Scan(rs)
			rows = append(rows, row)
			fresh++
			return err
		}, append(sourceOf(&last).args(), clickhouse.Named("after", int64(last.At)), clickhouse.Named("after_id", last.ID),
			clickhouse.Named("tenants", names[0]), clickhouse.Named("emitters", names[1]), clickhouse.Named("providers", names[2]),
			clickhouse.Named("deployments", names[3]), clickhouse.Named("models", names[4]),
			clickhouse.Named("since", from-around), clickhouse.Named("until", until+around),
			clickhouse.Named("limit", uint32(w.stallRows)))...) //nolint:gosec // a small limit
		if err != nil {
			return err
		}
		var marked, of []findings.Row
		for rest := rows; len(rest) > 0; rest = rest[len(of):] {
			n := slices.IndexFunc(rest, func(row findings.Row) bool { return sourceOf(&row) != sourceOf(&rest[0]) })
			if of = rest; n > 0 {
				of = rest[:n]
			}
			marked = append(marked, Mark(of, w.cfg.EventSlack.Microseconds())...)
		}
		if err := w.write(ctx, marked); err != nil {
			return err
		}
		if fresh < w.stallRows {
			return nil
		}
		last = rows[len(rows)-1]
		rows = carried(of, marked, w.stallRows)
	}
}

func sourceOf(r *findings.Row) source {
	return source{tenant: r.Tenant, emitter: r.Emitter, provider: r.Provider, deployment: r.Deployment, model: r.Model}
}

// carried returns the last rows of a page's last source, at most so many, in the states in which they were stored again.
func carried(rows, marked []findings.Row, most int) []findings.Row {
	since := int64(rows[len(rows)-1].At) - around
	first := max(0, len(rows)-most)
	for int64(rows[first].At) < since {
		first++
	}
	state := make(map[string]*findings.Row, len(marked))
	for i := range marked {
		state[marked[i].ID] = &marked[i]
	}
	out := slices.Clone(rows[first:])
	for i := range out {
		if m := state[out[i].ID]; m != nil {
			out[i] = *m
		}
	}
	return out
}

// Mark returns the rows of those stalls whose event is new or has changed. rows are stalls and slow starts of one source.
func Mark(rows []findings.Row, slackUS int64) []findings.Row {
	byID := map[string]*findings.Row{}
	var windows []stall.Window
	for i := range rows {
		r := &rows[i]
		if r.Open {
			continue // its end is not known
		}
		byID[r.ID] = r
		windows = append(windows, stall.Window{
			Stream: r.ID, FromUS: int64(r.At), UntilUS: int64(r.At) + r.DurationUS, Start: r.Kind == string(wire.FindingSlowStart),
		})
	}
	var out []findings.Row
	for _, g := range stall.Together(windows, slackUS) {
		requests := func(ids []string) []string {
			list := []string{}
			for _, id := range ids {
				list = append(list, byID[id].RequestID)
			}
			slices.Sort(list)
			list = slices.Compact(list)
			return list[:min(len(list), maxNamed)]
		}
		e := event{
			ID: slices.Min(g.Streams), FromUS: g.FromUS, UntilUS: g.UntilUS, Streams: len(g.Streams),
			Requests: requests(g.Streams), Waiting: requests(g.Waiting),
		}
		if len(e.Requests) < 2 {
			continue // several silences of one stream, or one stream told by two
		}
		for _, id := range g.Streams {
			if row, changed := marked(byID[id], &e); changed {
				out = append(out, row)
			}
		}
	}
	return out
}

// marked returns the row with the event in its evidence.
func marked(r *findings.Row, e *event) (findings.Row, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(r.Evidence), &fields) != nil || fields == nil {
		return findings.Row{}, false
	}
	b, err := json.Marshal(e)
	if err != nil || string(fields["event"]) == string(b) {
		return findings.Row{}, false
	}
	fields["event"] = b
	all, err := json.Marshal(fields)
	if err != nil {
		return findings.Row{}, false
	}
	row := *r
	row.Evidence = string(all)
	row.Version += addedStep
	return row, true
}

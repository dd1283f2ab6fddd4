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

// Rows of one answer: sources with new stalls, stalls of a source. Where there are more, the next are asked for.
const (
	sourceRows = 1000
	stallRows  = 50_000
)

// events looks at the silences that were told since a second for others at the same time.
func (w *worker) events(ctx context.Context, since int64) error {
	for last := (source{}); ; {
		type span struct{ from, until int64 }
		fresh := map[source]span{}
		err := w.query(ctx, "new stalls", newStallsSQL, func(rows driver.Rows) error {
			var at span
			err := rows.Scan(&last.tenant, &last.emitter, &last.provider, &last.deployment, &last.model, &at.from, &at.until)
			fresh[last] = at
			return err
		}, append(last.args(), clickhouse.Named("from", since), clickhouse.Named("limit", uint32(w.sourceRows)))...) //nolint:gosec // a small limit
		if err != nil {
			return err
		}
		for s, at := range fresh {
			if err := w.together(ctx, s, at.from-around, at.until+around); err != nil {
				return err
			}
		}
		if len(fresh) < w.sourceRows {
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

// together marks the stalls of a source, between two instants, that are one event. It reads them a page at a time, each with the
// rows before it that may be of one event with its first: those of the last minute, and no more than a page of them, so that an
// event of more than two pages becomes several.
func (w *worker) together(ctx context.Context, s source, from, until int64) error {
	var rows []findings.Row
	for after := ""; ; {
		sc, fresh := findings.Table.NewScanner(), 0
		err := w.query(ctx, "stalls", findings.Statement(stallsSQL), func(rs driver.Rows) error {
			row, err := sc.Scan(rs)
			rows = append(rows, row)
			fresh++
			return err
		}, append(s.args(), clickhouse.Named("since", from), clickhouse.Named("after", after), clickhouse.Named("until", until),
			clickhouse.Named("limit", uint32(w.stallRows)))...) //nolint:gosec // a small limit
		if err != nil {
			return err
		}
		marked := Mark(rows, w.cfg.EventSlack.Microseconds())
		if err := w.write(ctx, marked); err != nil {
			return err
		}
		if fresh < w.stallRows {
			return nil
		}
		last := &rows[len(rows)-1]
		from, after = int64(last.At), last.ID
		rows = carried(rows, marked, w.stallRows)
	}
}

// carried returns the last rows of a page, at most so many, in the states in which they were stored again.
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

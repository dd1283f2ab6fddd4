package joiner

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/streams"
)

var (
	//go:embed queries/arrived.sql
	arrivedSQL string
	//go:embed queries/by_id.sql
	byIDSQL string
	//go:embed queries/owners.sql
	ownersSQL string
)

// read asks all three source tables at once. sql has {{columns}}, {{table}} and {{time}} to be replaced.
func (w *worker) read(ctx context.Context, what, sql string, args ...any) (rec requests.Records, err error) {
	text := func(columns, table, at string) string {
		return strings.NewReplacer("{{columns}}", columns, "{{table}}", table, "{{time}}", at).Replace(sql)
	}
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() {
		sc := streams.Table.NewScanner()
		errs[0] = w.query(ctx, what+" streams", text(streams.Table.SelectList(), "streams", "started_at"), func(rs driver.Rows) error {
			row, err := sc.Scan(rs)
			rec.Streams = append(rec.Streams, row.ToWire())
			return err
		}, args...)
	})
	wg.Go(func() {
		sc := gateways.Table.NewScanner()
		errs[1] = w.query(ctx, what+" gateways", text(gateways.Table.SelectList(), "gateways", "received_at"), func(rs driver.Rows) error {
			row, err := sc.Scan(rs)
			rec.Gateways = append(rec.Gateways, row.ToWire())
			return err
		}, args...)
	})
	wg.Go(func() {
		sc := clients.Table.NewScanner()
		errs[2] = w.query(ctx, what+" clients", text(clients.Table.SelectList(), "clients", "received_at"), func(rs driver.Rows) error {
			row, err := sc.Scan(rs)
			rec.Clients = append(rec.Clients, row.ToWire())
			return err
		}, args...)
	})
	wg.Wait()
	return rec, errors.Join(errs[:]...)
}

// load completes what is held of some requests of one tenant: it reads all that is stored under their ids, as far back as a
// clock may be wrong.
func (w *worker) load(ctx context.Context, tenant string, which []*held) error {
	for len(which) > 0 {
		part := which[:min(len(which), w.cfg.Batch)]
		which = which[len(part):]
		ids := make([]string, len(part))
		since := part[0].first
		for i, h := range part {
			ids[i], since = h.id, min(since, h.first)
			if h.first == noInstant {
				since = 0 // nothing is known of it, so it may be as old as can be
			}
		}
		rec, err := w.read(ctx, "by id", byIDSQL, clickhouse.Named("tenant", tenant), clickhouse.Named("ids", ids), clickhouse.Named("since", max(0, since-slack)))
		if err != nil {
			return err
		}
		all := requests.ByID(rec)
		for _, h := range part {
			if r := all[h.id]; r != nil {
				w.memory.set(h, *r)
			} else {
				w.memory.set(h, requests.Records{})
			}
			w.remember(h, w.from)
		}
		w.tel.loaded(len(part))
	}
	return nil
}

// remember puts the names of what is held into the filter.
func (w *worker) remember(h *held, second int64) {
	w.filter.add(ofRecord, h.name, second)
	for _, a := range h.rec.Claims() {
		w.filter.add(ofAnswer, name{h.tenant, a}, second)
	}
}

// askOwners lists the requests that got answers of these ids. A name of several requests has no owner.
func (w *worker) askOwners(ctx context.Context, tenant string, ids []string) (owners []string, err error) {
	for len(ids) > 0 {
		part := ids[:min(len(ids), w.cfg.Batch)]
		ids = ids[len(part):]
		err := w.query(ctx, "owners", ownersSQL, func(rs driver.Rows) error {
			var owner string
			err := rs.Scan(&owner)
			owners = append(owners, owner)
			return err
		}, clickhouse.Named("tenant", tenant), clickhouse.Named("ids", part))
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}

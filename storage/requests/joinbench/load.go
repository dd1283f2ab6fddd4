package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/migrations"
	"github.com/fermata-io/fermata/storage/streams"
)

func (b *bench) reset(ctx context.Context) error {
	o := *b.opts
	o.Auth.Database = ""
	conn, err := clickhouse.Open(&o)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Exec(ctx, "DROP DATABASE IF EXISTS {db:Identifier} SYNC", clickhouse.Named("db", b.opts.Auth.Database)); err != nil {
		return err
	}
	_, err = migrations.Up(ctx, b.opts, nil)
	return err
}

type batch interface {
	Len() int
	Reset()
	InsertSQL() string
	Input() proto.Input
}

// load inserts every tier's records slot by slot in the order of their arrival.
func (b *bench) load(ctx context.Context) error {
	db, err := ch.Dial(ctx, ch.Options{
		Address: b.opts.Addr[0], Database: b.opts.Auth.Database, User: b.opts.Auth.Username, Password: b.opts.Auth.Password,
	})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	s, g, c := streams.Table.NewBatch(), gateways.Table.NewBatch(), clients.Table.NewBatch()
	rows, inserts := 0, 0
	flush := func(x batch) error {
		if x.Len() == 0 {
			return nil
		}
		rows, inserts = rows+x.Len(), inserts+1
		err := db.Do(ctx, ch.Query{Body: x.InsertSQL(), Input: x.Input(), Settings: b.set})
		x.Reset()
		return err
	}
	// Records wait in slots by arrival; a slot is complete once the clock has passed it.
	type part struct {
		i    int
		tier byte
	}
	slotOf := func(us int64) int { return int(float64(us-startUS) / 1e6 / b.slot) }
	slots := map[int][]part{}
	next, done := 0, 0
	start, cpu := time.Now(), b.cpu()
	emit := func(upTo int) error {
		for ; done < upTo; done++ {
			time.Sleep(time.Until(start.Add(time.Duration(float64(done) * b.pace * float64(time.Second)))))
			for _, p := range slots[done] {
				q := b.generate(p.i)
				switch p.tier {
				case 's':
					s.Append(&q.server)
				case 'g':
					g.Append(&q.gateway)
				case 'c':
					c.Append(&q.client)
				}
			}
			delete(slots, done)
			for _, x := range []batch{s, g, c} {
				if err := flush(x); err != nil {
					return err
				}
			}
		}
		return nil
	}
	last := 0
	for ; next < b.n; next++ {
		q := b.generate(next)
		put := func(at int64, tier byte) {
			k := slotOf(at)
			last = max(last, k)
			slots[k] = append(slots[k], part{next, tier})
		}
		put(q.aS, 's')
		if q.hasGW {
			put(q.aG, 'g')
		}
		if q.hasRUM {
			put(q.aR, 'c')
		}
		if err := emit(slotOf(int64(q.server.StartedAt))); err != nil {
			return err
		}
	}
	if err := emit(last + 1); err != nil {
		return err
	}
	insertCPU, el := b.cpu()-cpu, time.Since(start)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		var n uint64
		if err := b.conn.QueryRow(ctx, "SELECT count() FROM system.merges").Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	m := float64(b.n) / 1e6
	fmt.Printf("load n=%d rows=%d inserts=%d s=%.1f ch_cpu_s/M insert=%.2f with_merges=%.2f\n",
		b.n, rows, inserts, el.Seconds(), insertCPU/m, (b.cpu()-cpu)/m)
	return b.disk(ctx)
}

func (b *bench) disk(ctx context.Context) error {
	rs, err := b.conn.Query(ctx, `SELECT table, count(), sum(rows), sum(bytes_on_disk) FROM system.parts
		WHERE active AND database = currentDatabase() AND table IN ('streams', 'gateways', 'clients') GROUP BY table ORDER BY table`)
	if err != nil {
		return err
	}
	defer func() { _ = rs.Close() }()
	total := 0.0
	var out strings.Builder
	for rs.Next() {
		var name string
		var parts, rows, size uint64
		if err := rs.Scan(&name, &parts, &rows, &size); err != nil {
			return err
		}
		total += float64(size)
		fmt.Fprintf(&out, " %s: parts=%d rows=%d B/row=%.1f", name, parts, rows, float64(size)/float64(rows))
	}
	fmt.Printf("disk B/request=%.1f%s\n", total/float64(b.n), out.String())
	return rs.Err()
}

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"text/template"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
	"github.com/fermata-io/fermata/storage/migrations"
)

var (
	//go:embed fermata.yaml
	fermataConfig string
	//go:embed peer.yaml.tmpl
	peerConfig   string
	peerTemplate = template.Must(template.New("peer").Parse(peerConfig))
)

// Batches of the peer: 5 to 8 MB each, beyond which it only needs more memory.
const (
	peerSpans = 1000
	peerLogs  = 50_000
)

// fermata is a running `fermata collector`.
type fermata struct {
	*process
	grpc, http, ingest string
}

// startFermata runs the binary's collector with its queue in dir, writing to dsn; env sets more of fermata.yaml.
func (b *bench) startFermata(ctx context.Context, dsn, dir string, env ...string) (*fermata, error) {
	addrs, err := freeAddrs(4)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addrs[3])
	if err != nil {
		return nil, err
	}
	cfg := filepath.Join(dir, "fermata.yaml")
	if err := os.WriteFile(cfg, []byte(fermataConfig), 0o600); err != nil {
		return nil, err
	}
	p, err := launch("fermata", append(env,
		"FERMATA_CLICKHOUSE="+dsn, "FERMATA_QUEUE="+filepath.Join(dir, "queue"),
		"BENCH_OTLP_GRPC="+addrs[0], "BENCH_OTLP_HTTP="+addrs[1], "BENCH_INGEST="+addrs[2], "BENCH_METRICS_PORT="+port,
	), b.opt.fermata, "collector", "--config", cfg)
	if err != nil {
		return nil, err
	}
	f := &fermata{process: p, grpc: addrs[0], http: addrs[1], ingest: addrs[2]}
	if err := p.listening(ctx, addrs[:3]...); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return f, nil
}

// collecting makes a database and starts a collector that writes into it; end stops the one and drops the other.
func (b *bench) collecting(ctx context.Context, name string) (db *database, f *fermata, end func() error, err error) {
	if db, err = b.newDatabase(ctx, name); err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err == nil {
		f, err = b.startFermata(ctx, string(db.cfg.DSN), dir)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.drop(ctx))
	}
	return db, f, func() error { return errors.Join(f.stop(), db.drop(ctx)) }, nil
}

// store sends packed records and waits until the database has so many streams in all.
func (b *bench) store(ctx context.Context, db *database, f *fermata, bodies [][]byte, streams int) error {
	s, err := newGRPCSender(f.grpc, exportLogs)
	if err != nil {
		return err
	}
	_, err = sendAll(ctx, s, bodies, b.opt.conns)
	if err := errors.Join(err, s.close()); err != nil {
		return fmt.Errorf("%w\n%s", err, f.out)
	}
	return waitFor(ctx, db.conn, "SELECT count() FROM streams", streams)
}

func migrate(ctx context.Context, cfg clickhouse.Config) error {
	opts, err := cfg.Options()
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx, opts, nil)
	return err
}

// route says how a variant's bodies reach a collector.
type route struct {
	bodies [][]byte
	chunks int // in all bodies
	open   func(addr string) (sender, error)
}

func overGRPC(method string) func(string) (sender, error) {
	return func(addr string) (sender, error) { return newGRPCSender(addr, method) }
}

func (b *bench) overHTTP(path, contentType string) func(string) (sender, error) {
	return func(addr string) (sender, error) {
		return newHTTPSender("http://"+addr+path, contentType, "", b.opt.conns), nil
	}
}

// fermataVariant measures the whole path through a collector process; at picks the address that gets the bodies.
func (b *bench) fermataVariant(name string, streams int, r route, at func(*fermata) string) ingestbench.Variant {
	return ingestbench.Variant{
		Name: name, Table: "streams", Chunks: r.chunks,
		Prepare: func(ctx context.Context, conn driver.Conn, cfg clickhouse.Config) (*ingestbench.Prepared, error) {
			if err := migrate(ctx, cfg); err != nil {
				return nil, err
			}
			dir, err := os.MkdirTemp(b.dir, "fermata-")
			if err != nil {
				return nil, err
			}
			f, err := b.startFermata(ctx, string(cfg.DSN), dir)
			if err != nil {
				return nil, err
			}
			return b.prepared(ctx, f.process, r, at(f), arrived{
				conn: conn, count: "SELECT count() FROM streams", rows: streams,
				sum: "SELECT sum(n_chunks) FROM streams", chunks: r.chunks,
			})
		},
	}
}

// peerVariant measures the same bodies through the peer.
func (b *bench) peerVariant(name, table string, rows, batch int, chunks string, r route) ingestbench.Variant {
	return ingestbench.Variant{
		Name: name, Table: table, Chunks: r.chunks,
		Prepare: func(ctx context.Context, conn driver.Conn, cfg clickhouse.Config) (*ingestbench.Prepared, error) {
			opts, err := cfg.Options()
			if err != nil {
				return nil, err
			}
			addr, err := freeAddr()
			if err != nil {
				return nil, err
			}
			dir, err := os.MkdirTemp(b.dir, "peer-")
			if err != nil {
				return nil, err
			}
			name := filepath.Join(dir, "peer.yaml")
			f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // a folder of our own
			if err != nil {
				return nil, err
			}
			err = peerTemplate.Execute(f, map[string]any{
				"OTLP": addr, "Batch": batch, "ClickHouse": opts.Addr[0],
				"User": opts.Auth.Username, "Password": opts.Auth.Password, "Database": opts.Auth.Database,
			})
			if err := errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			p, err := launch("peer", nil, b.opt.peer, "--config=file:"+name)
			if err != nil {
				return nil, err
			}
			if err := p.listening(ctx, addr); err != nil {
				return nil, errors.Join(err, p.stop())
			}
			return b.prepared(ctx, p, r, addr, arrived{
				conn: conn, count: "SELECT count() FROM " + table, rows: rows, sum: chunks, chunks: r.chunks,
			})
		},
	}
}

// prepared is a variant whose process runs.
func (b *bench) prepared(ctx context.Context, p *process, r route, addr string, a arrived) (*ingestbench.Prepared, error) {
	s, err := r.open(addr)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &ingestbench.Prepared{
		PID: p.pid(),
		Run: func() error {
			busy, err := sendAll(ctx, s, r.bodies, b.opt.conns)
			if err != nil {
				return fmt.Errorf("%w\n%s", err, p.out)
			}
			if busy > 0 {
				b.note("%d requests were told to come again", busy)
			}
			return a.wait(ctx, p)
		},
		Close: func() error { return errors.Join(s.close(), p.stop()) },
	}, nil
}

// arrived says when a run is complete: so many rows, which hold so many chunks.
type arrived struct {
	conn       driver.Conn
	count, sum string
	rows       int
	chunks     int
}

func (a arrived) wait(ctx context.Context, p *process) error {
	if err := waitFor(ctx, a.conn, a.count, a.rows); err != nil {
		return fmt.Errorf("%w\n%s", err, p.out)
	}
	var n uint64
	if err := a.conn.QueryRow(ctx, a.count).Scan(&n); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	var chunks uint64
	if err := a.conn.QueryRow(ctx, a.sum).Scan(&chunks); err != nil {
		return fmt.Errorf("count chunks: %w", err)
	}
	if n != uint64(a.rows) || chunks != uint64(a.chunks) { //nolint:gosec // counts
		return fmt.Errorf("%d rows with %d chunks arrived; want %d with %d", n, chunks, a.rows, a.chunks)
	}
	return nil
}

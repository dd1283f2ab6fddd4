package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// Inserter writes whole columns through a pool of native connections. It is for concurrent use.
type Inserter struct {
	hosts    []string
	opts     ch.Options
	lifetime time.Duration
	slots    chan struct{} // one for each connection that may be in use
	next     atomic.Uint32 // host to try first

	mu     sync.Mutex
	idle   []pooled
	closed bool
}

type pooled struct {
	*ch.Client
	born time.Time
}

// ErrClosed is returned by an Inserter after Close.
var ErrClosed = errors.New("clickhouse: inserter is closed")

// Block is one table's rows of one insert.
type Block struct {
	SQL   string      // INSERT INTO t (columns) VALUES
	Input proto.Input // the columns
}

// OpenInserter makes an inserter; it connects at the first insert. Its pool is as large as MaxOpenConns.
func OpenInserter(cfg Config) (*Inserter, error) {
	opts, err := cfg.Options()
	if err != nil {
		return nil, err
	}
	i := &Inserter{
		hosts: opts.Addr,
		opts: ch.Options{
			Database: opts.Auth.Database, User: opts.Auth.Username, Password: opts.Auth.Password,
			ClientName: "fermata", Compression: compression(opts.Compression),
			DialTimeout: opts.DialTimeout, HandshakeTimeout: opts.DialTimeout, ReadTimeout: opts.ReadTimeout, TLS: opts.TLS,
			Settings: []ch.Setting{
				{Key: "async_insert", Value: "0", Important: true}, // acknowledged means written
				// ClickHouse notes a block before the block is there: a server that is killed in between takes the repeated one for
				// written, and it is lost. What comes twice replaces itself in every table.
				{Key: "insert_deduplicate", Value: "0", Important: true},
				{Key: "deduplicate_insert", Value: "disable"}, // its name in newer servers; others ignore it
				// Merging each block with itself costs as much as writing it; rows that come twice are rare, and reads
				// and later merges drop them.
				{Key: "optimize_on_insert", Value: "0"},
				// Late records of many days come in one batch, for instance after a replay.
				{Key: "throw_on_max_partitions_per_insert_block", Value: "0"},
			},
		},
		lifetime: cfg.ConnMaxLifetime,
		slots:    make(chan struct{}, cfg.MaxOpenConns),
	}
	for k, v := range opts.Settings {
		i.opts.Settings = append(i.opts.Settings, ch.Setting{Key: k, Value: fmt.Sprint(v)})
	}
	return i, nil
}

// compression of inserts is what the DSN asks for (compress=lz4, …). By default there is none: chunk gaps are noise to LZ4
// (3.96 of 4 bytes), and it costs four times the CPU of sending them as they are.
func compression(c *clickhouse.Compression) ch.Compression {
	if c == nil {
		return ch.CompressionDisabled
	}
	switch c.Method {
	case clickhouse.CompressionLZ4:
		return ch.CompressionLZ4
	case clickhouse.CompressionLZ4HC:
		return ch.CompressionLZ4HC
	case clickhouse.CompressionZSTD:
		return ch.CompressionZSTD
	}
	return ch.CompressionDisabled
}

// Insert writes a block and returns when the server has it on disk. After an error the block may or may not have been
// written: insert it again.
func (i *Inserter) Insert(ctx context.Context, b Block) error {
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, fresh, err := i.get(ctx)
	if err != nil {
		return err
	}
	err = i.do(ctx, conn, b)
	if _, refused := Code(err); err != nil && !fresh && !refused && ctx.Err() == nil {
		// The server closed an idle connection, or restarted since; a new one may do.
		if conn, err = i.dial(ctx); err != nil {
			return err
		}
		err = i.do(ctx, conn, b)
	}
	if err != nil {
		return fmt.Errorf("clickhouse: insert: %w", err)
	}
	i.put(conn)
	return nil
}

func (i *Inserter) do(ctx context.Context, conn pooled, b Block) error {
	err := conn.Do(ctx, ch.Query{Body: b.SQL, Input: b.Input})
	if err != nil {
		_ = conn.Close() // nobody knows in the middle of what it is
	}
	return err
}

func (i *Inserter) get(ctx context.Context) (conn pooled, fresh bool, err error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return conn, false, ErrClosed
	}
	for n := len(i.idle); n > 0; n = len(i.idle) {
		conn = i.idle[n-1]
		i.idle = i.idle[:n-1]
		if time.Since(conn.born) < i.lifetime {
			i.mu.Unlock()
			return conn, false, nil
		}
		_ = conn.Close() // nothing is lost with an idle one
	}
	i.mu.Unlock()
	conn, err = i.dial(ctx)
	return conn, true, err
}

// dial tries each host once, beginning with another one each time.
func (i *Inserter) dial(ctx context.Context) (pooled, error) {
	start := i.next.Add(1)
	var errs []error
	for n := range i.hosts {
		c, err := i.connect(ctx, i.hosts[(int(start)+n)%len(i.hosts)])
		if err == nil {
			return pooled{Client: c, born: time.Now()}, nil
		}
		errs = append(errs, err)
	}
	return pooled{}, fmt.Errorf("clickhouse: connect: %w", errors.Join(errs...))
}

func (i *Inserter) connect(ctx context.Context, host string) (*ch.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, i.opts.DialTimeout)
	defer cancel()
	var d interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = &net.Dialer{}
	if i.opts.TLS != nil {
		d = &tls.Dialer{Config: i.opts.TLS}
	}
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	c, err := ch.Connect(ctx, conn, i.opts)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func (i *Inserter) put(conn pooled) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		_ = conn.Close() // no longer wanted
		return
	}
	i.idle = append(i.idle, conn)
}

// Close closes the idle connections; those in use are closed as they come back.
func (i *Inserter) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	var errs []error
	for _, c := range i.idle {
		errs = append(errs, c.Close())
	}
	i.idle = nil
	return errors.Join(errs...)
}

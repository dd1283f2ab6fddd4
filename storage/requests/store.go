package requests

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/streams"
)

// Store reads from ClickHouse. It is safe for concurrent use.
type Store struct {
	conn   driver.Conn
	limits ReadLimits
	off    atomic.Pointer[[]string] // settings that a look-up switches off, once known
}

var _ Reader = (*Store)(nil)

// New returns a Store that reads through conn, whose default database holds the tables. conn should allow four
// open connections, since a look-up asks its tables at once.
func New(conn driver.Conn, limits ReadLimits) *Store {
	def := NewDefaultReadLimits()
	if limits.Rows <= 0 {
		limits.Rows = def.Rows
	}
	if limits.Time <= 0 {
		limits.Time = def.Time
	}
	if limits.MemoryBytes <= 0 {
		limits.MemoryBytes = def.MemoryBytes
	}
	return &Store{conn: conn, limits: limits}
}

// maxNames bounds how many other names of a request are followed, and maxRounds how often.
const (
	maxNames  = 64
	maxRounds = 2
	// maxOwners is how many requests are told that one name stands for.
	maxOwners = 10
)

// Request implements Reader.
func (s *Store) Request(ctx context.Context, tenant, id string) (*Request, error) {
	rec, err := s.gather(ctx, tenant, []string{id})
	if err != nil {
		return nil, err
	}
	var owners []owner
	if rec.mayBelong(id) {
		// Nothing, or what an engine or a page would log under another name of the request.
		if owners, err = s.owners(ctx, tenant, id); err != nil {
			return nil, err
		}
	}
	claims := slices.DeleteFunc(slices.Clone(owners), func(o owner) bool { return !o.claims })
	switch {
	case rec.Empty() && len(owners) == 1:
		// Only an alias of one request.
		if rec, err = s.gather(ctx, tenant, []string{owners[0].id}); err != nil {
			return nil, err
		}
		id = owners[0].id
	case !rec.Empty() && len(claims) == 1 && rec.Belongs(id, claims[0].id):
		main, err := s.gather(ctx, tenant, []string{claims[0].id})
		if err != nil {
			return nil, err
		}
		if !main.Empty() {
			id = claims[0].id
			rec = join(main, rec)
		}
	}
	switch {
	case rec.Empty() && len(owners) > 1:
		return nil, ambiguous(owners)
	case rec.Empty():
		return nil, ErrNotFound
	}
	var session []clocks.Row
	pages := rec.Clients
	err = parallel(
		func() error { return s.follow(ctx, tenant, id, &rec) },
		func() (err error) {
			session, err = s.sessionOf(ctx, tenant, pages)
			return err
		},
	)
	if err == nil && !maps.Equal(pagesOf(pages), pagesOf(rec.Clients)) { // a page that knows only another name
		session, err = s.sessionOf(ctx, tenant, rec.Clients)
	}
	if err != nil {
		return nil, err
	}
	rec.Session = session
	return Assemble(tenant, id, rec), nil
}

// follow adds the records that others logged under another name of the request.
func (s *Store) follow(ctx context.Context, tenant, id string, rec *Records) error {
	seen := map[string]bool{id: true}
	for i := range rec.Streams {
		seen[rec.Streams[i].RequestID] = true
	}
	for range maxRounds {
		var names []string
		for _, n := range joinNames(rec) {
			if !seen[n] && len(seen) < maxNames {
				seen[n] = true
				names = append(names, n)
			}
		}
		if len(names) == 0 {
			return nil
		}
		more, err := s.gather(ctx, tenant, names)
		if err != nil {
			return err
		}
		if more.Empty() {
			return nil
		}
		*rec = join(*rec, more)
	}
	return nil
}

// joinNames lists the names by which another tier may know the request: response ids and aliases, sorted. A
// trace has many requests, so its id joins nothing.
func joinNames(rec *Records) []string {
	var names []string
	add := func(response, trace string, others []string) {
		for _, n := range append([]string{response}, others...) {
			if n != "" && n != trace {
				names = append(names, n)
			}
		}
	}
	for i := range rec.Streams {
		add(rec.Streams[i].ResponseID, rec.Streams[i].TraceID, rec.Streams[i].Aliases)
	}
	for i := range rec.Gateways {
		add(rec.Gateways[i].ResponseID, rec.Gateways[i].TraceID, rec.Gateways[i].Aliases)
	}
	for i := range rec.Clients {
		add(rec.Clients[i].ResponseID, rec.Clients[i].TraceID, rec.Clients[i].Aliases)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func join(a, b Records) Records {
	return Records{
		Streams:  append(slices.Clip(a.Streams), b.Streams...),
		Gateways: append(slices.Clip(a.Gateways), b.Gateways...),
		Clients:  append(slices.Clip(a.Clients), b.Clients...),
	}
}

// gather reads the records of all tiers under some ids.
func (s *Store) gather(ctx context.Context, tenant string, ids []string) (Records, error) {
	var rec Records
	off, err := s.LookUpOff(ctx)
	if err != nil {
		return rec, err
	}
	err = parallel(
		func() (err error) {
			rec.Streams, err = byID(ctx, s.limits, s.conn, streamsByID, tenant, ids, func() func(driver.Rows) (streams.Row, error) {
				return streams.Table.NewScanner().Scan
			}, (*streams.Row).ToWire, off)
			return err
		},
		func() (err error) {
			rec.Gateways, err = byID(ctx, s.limits, s.conn, gatewaysByID, tenant, ids, func() func(driver.Rows) (gateways.Row, error) {
				return gateways.Table.NewScanner().Scan
			}, (*gateways.Row).ToWire, off)
			return err
		},
		func() (err error) {
			rec.Clients, err = byID(ctx, s.limits, s.conn, clientsByID, tenant, ids, func() func(driver.Rows) (clients.Row, error) {
				return clients.Table.NewScanner().Scan
			}, (*clients.Row).ToWire, off)
			return err
		},
	)
	return rec, err
}

// LookUpOff names the settings that cost a look-up half of its time and bring it nothing: column statistics, which newer
// servers load for every column of every part to plan a query, and the analyzer, which resolves every computed column of the
// table whatever is asked for. Older servers have no such settings.
func (s *Store) LookUpOff(ctx context.Context) ([]string, error) {
	if off := s.off.Load(); off != nil {
		return *off, nil
	}
	off := []string{}
	err := s.limits.rows(ctx, s.conn, statisticsSettings, nil, func(rs driver.Rows) error {
		var name string
		if err := rs.Scan(&name); err != nil {
			return err
		}
		off = append(off, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.off.Store(&off)
	return off, nil
}

// owner is a request that carries a name; claims says that others may have logged it under that name, which is not a trace's.
type owner struct {
	id     string
	claims bool
}

func (s *Store) owners(ctx context.Context, tenant, name string) ([]owner, error) {
	var out []owner
	args := []any{clickhouse.Named("tenant", tenant), clickhouse.Named("name", name), clickhouse.Named("limit", uint32(maxOwners+1))}
	err := s.limits.rows(ctx, s.conn, aliasesByName, args, func(rs driver.Rows) error {
		var o owner
		var claims uint8
		if err := rs.Scan(&o.id, &claims); err != nil {
			return err
		}
		o.claims = claims == 1
		out = append(out, o)
		return nil
	})
	return out, err
}

// parallel runs the functions at once and joins their errors.
func parallel(fs ...func() error) error {
	errs := make([]error, len(fs))
	var wg sync.WaitGroup
	for i, f := range fs {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

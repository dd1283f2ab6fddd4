package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"
)

//go:embed 0*.sql
var files embed.FS

// ErrTooOld is returned by Check for a schema that misses migrations.
var ErrTooOld = errors.New("database schema is too old")

// ErrTooNew is returned by Check for a schema that a newer build has migrated.
var ErrTooNew = errors.New("database schema is newer than this build")

// Step is one migration that was applied.
type Step struct {
	Version  int64
	File     string
	Duration time.Duration
	Done     int // steps done so far, this one included
	Total    int // steps of this run
}

// Up applies what is missing in the database that opts names and returns the version reached. It makes the
// database if the server has none of that name. progress may be nil; it is called after each step.
//
// Only one process may run Up on a server at a time: goose's version table takes no lock.
func Up(ctx context.Context, opts *clickhouse.Options, progress func(Step)) (int64, error) {
	if err := createDatabase(ctx, opts); err != nil {
		return 0, err
	}
	var version int64
	err := withProvider(opts, func(p *goose.Provider) error {
		current, err := p.GetDBVersion(ctx)
		if err != nil {
			return fmt.Errorf("read schema version: %w", err)
		}
		total := 0
		for _, s := range p.ListSources() {
			if s.Version > current {
				total++
			}
		}
		for done := 1; ; done++ {
			r, err := p.UpByOne(ctx)
			if errors.Is(err, goose.ErrNoNextVersion) {
				break
			}
			if err != nil {
				return fmt.Errorf("apply migration: %w", err)
			}
			if progress != nil {
				progress(Step{Version: r.Source.Version, File: r.Source.Path, Duration: r.Duration, Done: done, Total: total})
			}
		}
		version, err = p.GetDBVersion(ctx)
		return err
	})
	return version, err
}

// Version returns the version of the database that opts names; 0 when it was never migrated.
func Version(ctx context.Context, opts *clickhouse.Options) (int64, error) {
	var version int64
	err := withProvider(opts, func(p *goose.Provider) (err error) {
		version, err = p.GetDBVersion(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}

// Latest returns the version that this build migrates to, which is also the one its queries need.
func Latest() int64 {
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		panic("migrations: no embedded files") // the pattern is constant and the files are compiled in
	}
	v, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		panic(err)
	}
	return v
}

// MinVersion is the oldest schema that this build can write to and read from.
func MinVersion() int64 { return Latest() }

// Check returns ErrTooOld or ErrTooNew, with what to do, unless this build fits the database's schema.
func Check(ctx context.Context, opts *clickhouse.Options) error {
	v, err := Version(ctx, opts)
	switch {
	case err != nil:
		return err
	case v < MinVersion():
		return fmt.Errorf("%w: it has version %d and this build needs %d; run `fermata migrate`", ErrTooOld, v, MinVersion())
	case v > Latest():
		return fmt.Errorf("%w: it has version %d and this build knows up to %d; install a newer fermata", ErrTooNew, v, Latest())
	}
	return nil
}

func createDatabase(ctx context.Context, opts *clickhouse.Options) (err error) {
	name := opts.Auth.Database
	if name == "" || name == "default" {
		return nil
	}
	o := *opts
	o.Auth.Database = ""
	db := clickhouse.OpenDB(&o)
	defer func() { err = errors.Join(err, closeDB(db)) }()
	var n uint64
	err = db.QueryRowContext(ctx, "SELECT count() FROM system.databases WHERE name = {name:String}",
		clickhouse.Named("name", name)).Scan(&n)
	if err != nil {
		return fmt.Errorf("look for database: %w", err)
	}
	if n == 1 {
		return nil
	}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS {name:Identifier}", clickhouse.Named("name", name)); err != nil {
		return fmt.Errorf("create database %q: %w", name, err)
	}
	return nil
}

func withProvider(opts *clickhouse.Options, do func(*goose.Provider) error) (err error) {
	db := clickhouse.OpenDB(opts)
	defer func() { err = errors.Join(err, closeDB(db)) }()
	p, err := goose.NewProvider(goose.DialectClickHouse, db, files)
	if err != nil {
		return fmt.Errorf("open migrations: %w", err)
	}
	return do(p)
}

func closeDB(db *sql.DB) error {
	if err := db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

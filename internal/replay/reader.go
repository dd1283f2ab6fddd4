package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// Options shape what is read. Start from NewDefaultOptions.
type Options struct {
	Format     string    // a name of Formats, or auto
	Tenant     string    // default: default
	Provider   string    // for records whose file names none
	Deployment string    // the same
	Model      string    // the same
	App        string    // the same
	Start      time.Time // when set, the file is moved so that its first record starts here
	Pacing     Pacing
}

// NewDefaultOptions returns the documented defaults.
func NewDefaultOptions() Options {
	return Options{Format: FormatAuto, Tenant: wire.DefaultTenant, Pacing: NewDefaultPacing()}
}

// undated is where files that tell no date begin. It is fixed, so that a second replay gives the same times.
var undated = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Record is one thing to send; exactly one field is set.
type Record struct {
	Stream  *wire.Stream
	Gateway *wire.Gateway
	Client  *wire.Client
	Raw     *Raw
}

// Raw is a body that is sent as it stood in the file.
type Raw struct {
	Path string // of the endpoint: /v1/logs and /v1/traces of OTLP/HTTP, others of the ingest listener
	OTLP bool
	Body []byte // one JSON value
	// Items is the number of log records, spans or records in it.
	Items int
}

// Report says what was read.
type Report struct {
	Format  string
	Records int      // emitted
	Chunks  int      // in them
	Skipped int      // items of the file that gave no record
	Reasons []string // why, the first few of each kind
	Notes   []string // what a reader of the numbers must know: assumed dates, definitions, the pacing
	First   string   // request id of the first record
	Last    string   // and of the last
}

// ErrFormat says that a file's format is not known or not the one asked for.
var ErrFormat = errors.New("unknown format")

// Read reads the file and calls emit with each record, in the file's order. It stops at the first error of emit.
func Read(ctx context.Context, src *Source, opt Options, emit func(Record) error) (Report, error) {
	f, err := pick(src, opt.Format)
	if err != nil {
		return Report{}, err
	}
	if err := opt.Pacing.Validate(); err != nil {
		return Report{}, err
	}
	if opt.Tenant == "" {
		opt.Tenant = wire.DefaultTenant
	}
	rd := &reader{ctx: ctx, src: src, opt: opt, emit: emit, rep: Report{Format: f.name}, seen: map[string]int{}}
	if err := f.read(rd); err != nil {
		return rd.rep, fmt.Errorf("%s (%s): %w", src.name, f.name, err)
	}
	if rd.rep.Records == 0 && rd.rep.Skipped == 0 {
		return rd.rep, fmt.Errorf("%s (%s): holds no record", src.name, f.name)
	}
	return rd.rep, nil
}

// reader carries one Read.
type reader struct {
	ctx  context.Context //nolint:containedctx // lives for one Read
	src  *Source
	opt  Options
	emit func(Record) error
	rep  Report
	seen map[string]int // reasons told so far

	moved bool
	shift int64 // µs
}

// Most reasons of one kind that are told, and kinds.
const (
	reasonsPerKind = 2
	reasonsInAll   = 12
)

func (r *reader) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(r.rep.Notes, s) && len(r.rep.Notes) < 16 {
		r.rep.Notes = append(r.rep.Notes, s)
	}
}

// skip counts an item that gives no record; kind groups reasons.
func (r *reader) skip(where, kind string) {
	r.rep.Skipped++
	r.seen[kind]++
	if r.seen[kind] <= reasonsPerKind && len(r.rep.Reasons) < reasonsInAll {
		r.rep.Reasons = append(r.rep.Reasons, where+": "+kind)
	}
}

// id makes a request id from the file's hash, the options that shape the record, and the item's place.
func (r *reader) id(parts ...string) string {
	h := r.src.hash[:12]
	extra := strings.Join(parts[:len(parts)-1], "\x00")
	if !r.opt.Start.IsZero() {
		extra += "\x00" + strconv.FormatInt(r.opt.Start.UnixMicro(), 10)
	}
	if extra != "" {
		h = fmt.Sprintf("%012x", xxh3.HashString(r.src.hash+"\x00"+extra)&0xffffffffffff)
	}
	return r.rep.Format + "-" + h + "-" + parts[len(parts)-1]
}

// own returns the file's own id when it can be a request id; else one made from the hash, and the file's as alias.
func (r *reader) own(id string, index int) (string, []string) {
	if wire.ValidID(id) {
		return id, nil
	}
	made := r.id(strconv.Itoa(index))
	if id == "" || len(id) > 256 {
		return made, nil
	}
	return made, []string{id}
}

// move applies Options.Start.
func (r *reader) move(instant *int64) {
	if r.opt.Start.IsZero() || *instant == 0 {
		return
	}
	if !r.moved {
		r.moved = true
		r.shift = r.opt.Start.UnixMicro() - *instant
	}
	*instant += r.shift
}

func (r *reader) stream(s *wire.Stream) error {
	s.Tenant = r.opt.Tenant
	if s.Tier == "" {
		s.Tier = wire.TierServer
	}
	if s.Attempt == 0 {
		s.Attempt = 1
	}
	or(&s.Provider, r.opt.Provider)
	or(&s.Deployment, r.opt.Deployment)
	or(&s.Model, r.opt.Model)
	or(&s.App, r.opt.App)
	r.move(&s.StartedAt)
	r.rep.Chunks += s.Chunks.Len()
	return r.send(Record{Stream: s}, s.RequestID)
}

func (r *reader) client(c *wire.Client) error {
	c.Tenant = r.opt.Tenant
	or(&c.App, r.opt.App)
	r.move(&c.TimeOrigin)
	r.rep.Chunks += c.Recv.Len()
	return r.send(Record{Client: c}, c.RequestID)
}

func (r *reader) send(rec Record, id string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.rep.First == "" {
		r.rep.First = id
	}
	r.rep.Last = id
	r.rep.Records++
	return r.emit(rec)
}

func or(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

package streamprocessor

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// snapshots keeps the state of open streams in a storage extension.
type snapshots struct{ client storage.Client }

const snapshotKey = "open_streams_v2"

func openSnapshots(ctx context.Context, host component.Host, id, self component.ID) (*snapshots, error) {
	ext, ok := host.GetExtensions()[id]
	if !ok {
		return nil, storageError(id, errors.New("is not among the extensions of the service"))
	}
	st, ok := ext.(storage.Extension)
	if !ok {
		return nil, storageError(id, errNoStorage)
	}
	c, err := st.GetClient(ctx, component.KindProcessor, self, "")
	if err != nil {
		return nil, storageError(id, err)
	}
	return &snapshots{client: c}, nil
}

func (s *snapshots) close(ctx context.Context) error { return s.client.Close(ctx) }

// savedStream is one open stream in a snapshot. Text is not part of it: a loop that spans a restart is seen again
// once it has repeated often enough after it.
type savedStream struct {
	Tenant, RequestID, Emitter string
	Tier                       wire.Tier
	Attempt                    uint32
	StartedAt                  int64
	Arrived                    int64 // µs since the epoch

	// Of a stream that has not finished. Tracker is empty for one that has.
	Target       wire.Target
	QueryType    string
	Tracker      []byte
	Choices      []savedChoice
	Current      uint16
	NextSeq      uint32
	Content      int64
	KnownUS      int64
	ToldUS       int64
	LastUS       int64
	StartUnknown bool
	Headless     bool
	Hole         bool
	Started      bool
	SawDone      bool
	SawOther     bool
	Pinged       bool
	Told         []told
	Times        []uint32
	Stride       int64
	LagUS        int64
	LowUS        int64
	Records      uint8
	Observes     bool
	Beats        bool
}

type savedChoice struct {
	Number  uint16
	Tracker []byte
}

func shardKey(i int) string { return snapshotKey + "/" + strconv.Itoa(i) }

// save writes the table, shard by shard, so that no stream waits for more than its own.
func (p *streamProcessor) save(ctx context.Context) error {
	var b bytes.Buffer
	var c savedShard
	for i := range p.shards {
		changed, err := p.shards[i].save(&c)
		if err != nil {
			return fmt.Errorf("save state: %w", err)
		}
		if !changed {
			continue
		}
		b.Reset()
		if err := gob.NewEncoder(&b).Encode(c.streams); err != nil {
			p.shards[i].keep()
			return fmt.Errorf("save state: %w", err)
		}
		if err := p.store.client.Set(ctx, shardKey(i), bytes.Clone(b.Bytes())); err != nil {
			p.shards[i].keep()
			return fmt.Errorf("save state: %w", err)
		}
	}
	return nil
}

// savedShard is a copy of one shard; its room is used again for the next one.
type savedShard struct {
	streams []savedStream
	states  []byte // the trackers', one behind the other
}

// keep says that the shard was not saved after all.
func (sh *shard) keep() {
	sh.mu.Lock()
	sh.unsaved = true
	sh.mu.Unlock()
}

// save copies a shard, the stream silent for longest first, unless nothing changed since it was last saved.
func (sh *shard) save(c *savedShard) (changed bool, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.unsaved {
		return false, nil
	}
	sh.unsaved = false
	c.streams, c.states = c.streams[:0], c.states[:0]
	for e := sh.last; e != nil; e = e.prev {
		k := &e.key
		s := savedStream{
			Tenant: k.tenant, RequestID: k.requestID, Emitter: k.emitter, Tier: k.tier, Attempt: k.attempt, StartedAt: k.startedAt,
			Arrived: e.arrived.UnixMicro(),
		}
		if e.f != nil {
			if err := c.follow(&s, e); err != nil {
				return false, err
			}
		}
		c.streams = append(c.streams, s)
	}
	return true, nil
}

func (c *savedShard) state(t *stall.Tracker) ([]byte, error) {
	from := len(c.states)
	b, err := t.AppendBinary(c.states)
	c.states = b
	return b[from:len(b):len(b)], err
}

func (c *savedShard) follow(s *savedStream, e *entry) (err error) {
	f, p := e.f, &e.pulse
	if s.Tracker, err = c.state(&f.tracker); err != nil {
		return err
	}
	for _, o := range f.choices {
		b, err := c.state(&o.tracker)
		if err != nil {
			return err
		}
		s.Choices = append(s.Choices, savedChoice{o.number, b})
	}
	s.Target, s.QueryType, s.Current, s.NextSeq, s.Content = f.target.Value(), f.queryType, f.current, f.nextSeq, f.content
	s.KnownUS, s.ToldUS, s.LastUS = f.knownUS, f.toldUS, f.lastUS
	s.StartUnknown, s.Headless, s.Hole = f.startUnknown, f.headless, f.hole
	s.Started, s.SawDone, s.SawOther, s.Pinged = f.started, f.sawDone, f.sawOther, f.pinged
	s.Told = append([]told(nil), f.told...)
	s.Times, s.Stride = append([]uint32(nil), f.times.at...), f.times.stride
	s.LagUS, s.LowUS, s.Records, s.Observes, s.Beats = p.lagUS, p.lowUS, p.records, p.observes, p.beats
	return nil
}

func (p *streamProcessor) restore(ctx context.Context) error {
	now := time.Now()
	var errs []error
	for i := range p.shards {
		b, err := p.store.client.Get(ctx, shardKey(i))
		if err != nil {
			return err
		}
		if len(b) == 0 {
			continue
		}
		var all []savedStream
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
			errs = append(errs, fmt.Errorf("restore state: %w", err))
			continue
		}
		for k := range all {
			e, err := all[k].entry(&p.det, now)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			sh := &p.shards[e.key.hash()%shardCount]
			if gone := sh.add(e); gone != nil {
				p.giveUp(sh, gone)
			}
		}
	}
	return errors.Join(errs...)
}

// entry makes the stream again. What happened while nobody was there is not silence.
func (s *savedStream) entry(det *detectors, now time.Time) (*entry, error) {
	e := &entry{key: key{s.Tenant, s.RequestID, s.Emitter, s.Tier, s.Attempt, s.StartedAt}, arrived: time.UnixMicro(s.Arrived)}
	if len(s.Tracker) == 0 {
		return e, nil
	}
	f := newFollower(det, &wire.Stream{Target: s.Target, QueryType: s.QueryType, StartUnknown: s.StartUnknown})
	f.key = e.key
	if err := f.tracker.UnmarshalBinary(s.Tracker); err != nil {
		return nil, err
	}
	for _, c := range s.Choices {
		if t := f.trackerOf(c.Number); t != nil {
			if err := t.UnmarshalBinary(c.Tracker); err != nil {
				return nil, err
			}
		}
	}
	f.current, f.nextSeq, f.content = s.Current, s.NextSeq, s.Content
	f.knownUS, f.toldUS, f.lastUS = s.KnownUS, s.ToldUS, s.LastUS
	f.headless, f.hole, f.started = s.Headless, s.Hole, s.Started
	f.sawDone, f.sawOther, f.pinged = s.SawDone, s.SawOther, s.Pinged
	f.told = s.Told
	f.times = chunkTimes{at: s.Times, stride: s.Stride}
	e.f = f
	e.pulse = pulse{knownUS: s.ToldUS, lagUS: s.LagUS, lowUS: s.LowUS, records: s.Records, observes: s.Observes, beats: s.Beats}
	e.pulse.resume(now)
	return e, nil
}

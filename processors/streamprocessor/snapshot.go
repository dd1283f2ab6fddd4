package streamprocessor

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/fermata-io/fermata/internal/wire"
)

// snapshots keeps the state of open streams in a storage extension.
type snapshots struct{ client storage.Client }

const snapshotKey = "open_streams_v1"

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
	Stream   wire.Stream
	Tracker  []byte
	NextSeq  uint32
	Content  int64
	KnownUS  int64
	Started  bool
	SawDone  bool
	SawOther bool
	Finished bool
	Shown    []wire.Finding
	Times    []uint32
	Stride   int64
	Arrived  time.Time
}

func (p *streamProcessor) save(ctx context.Context) error {
	var all []savedStream
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		for _, k := range sh.streams.Keys() {
			e, ok := sh.streams.Peek(k)
			if !ok {
				continue
			}
			s := savedStream{Arrived: e.arrived, Finished: e.f == nil}
			if e.f == nil {
				s.Stream = wire.Stream{
					Tenant: k.tenant, RequestID: k.requestID, Emitter: k.emitter, Tier: k.tier, Attempt: k.attempt, StartedAt: k.startedAt,
				}
			} else {
				state, err := e.f.tracker.AppendBinary(nil)
				if err != nil {
					sh.mu.Unlock()
					return fmt.Errorf("save state: %w", err)
				}
				s.Stream, s.Tracker, s.NextSeq, s.Content = e.f.stream, state, e.f.nextSeq, e.f.content
				s.KnownUS, s.Started, s.SawDone, s.SawOther = e.knownAt, e.f.started, e.f.sawDone, e.f.sawOther
				s.Times, s.Stride = append([]uint32(nil), e.f.times.at...), e.f.times.stride
				for _, w := range e.f.shown {
					s.Shown = append(s.Shown, w)
				}
			}
			all = append(all, s)
		}
		sh.mu.Unlock()
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(all); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return p.store.client.Set(ctx, snapshotKey, b.Bytes())
}

func (p *streamProcessor) restore(ctx context.Context) error {
	b, err := p.store.client.Get(ctx, snapshotKey)
	if err != nil || len(b) == 0 {
		return err
	}
	var all []savedStream
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
		return fmt.Errorf("restore state: %w", err)
	}
	var errs []error
	for i := range all {
		s := &all[i]
		e := &entry{arrived: s.Arrived, knownAt: s.KnownUS}
		if !s.Finished {
			f := newFollower(&p.det, &s.Stream)
			if err := f.tracker.UnmarshalBinary(s.Tracker); err != nil {
				errs = append(errs, err)
				continue
			}
			f.nextSeq, f.content, f.knownUS, f.started = s.NextSeq, s.Content, s.KnownUS, s.Started
			f.sawDone, f.sawOther = s.SawDone, s.SawOther
			f.times = chunkTimes{at: s.Times, stride: s.Stride}
			for _, w := range s.Shown {
				f.shown[w.ID] = w
			}
			e.f = f
		}
		k := keyOf(&s.Stream)
		p.shards[k.hash()%shardCount].streams.Add(k, e)
	}
	return errors.Join(errs...)
}

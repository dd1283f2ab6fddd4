package streamprocessor

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// told is the state of a finding as it was handed on last: enough to know what is news, and to close or withdraw it.
type told struct {
	ID         string
	Kind       wire.FindingKind
	Grade      string
	Channel    string
	Severity   string
	Chunk      int64
	StartUS    int64
	DurationUS int64
	Evidence   uint64          // hash
	Raw        json.RawMessage // the evidence itself, while the finding is open
	Confidence float64
	Open       bool
	Withdrawn  bool
}

// maxTold bounds the findings of one stream that are remembered; open ones are kept before closed ones.
const maxTold = 16

func toldOf(w *wire.Finding) told {
	t := told{
		ID: w.ID, Kind: w.Kind, Grade: w.Grade, Channel: w.Channel, Severity: w.Severity, Chunk: w.Chunk.V, StartUS: w.StartUS,
		DurationUS: w.DurationUS, Evidence: xxh3.Hash(w.Evidence), Confidence: w.Confidence, Open: w.Open, Withdrawn: w.Withdrawn,
	}
	if w.Open {
		t.Raw = w.Evidence
	}
	return t
}

// finding makes the finding that was told.
func (f *follower) finding(t *told) wire.Finding {
	w := f.base(t.Kind, t.Channel, t.Chunk)
	w.ID, w.Grade, w.Severity, w.Confidence = t.ID, t.Grade, t.Severity, t.Confidence
	w.StartUS, w.DurationUS, w.Open, w.Withdrawn = t.StartUS, t.DurationUS, t.Open, t.Withdrawn
	if w.Evidence = t.Raw; t.Raw == nil {
		w.Evidence = json.RawMessage(`{}`)
	}
	return w
}

func (f *follower) toldAs(id string) *told {
	for i := range f.told {
		if f.told[i].ID == id {
			return &f.told[i]
		}
	}
	return nil
}

func (f *follower) remember(w *wire.Finding) {
	t := toldOf(w)
	if old := f.toldAs(t.ID); old != nil {
		*old = t
		return
	}
	if len(f.told) >= maxTold {
		i := max(0, slices.IndexFunc(f.told, func(t told) bool { return !t.Open }))
		f.told = slices.Delete(f.told, i, i+1)
	}
	f.told = append(f.told, t)
}

// change notes the new state of a finding.
func (f *follower) change(w wire.Finding) {
	for i := range f.changed {
		if f.changed[i].ID == w.ID {
			f.changed[i] = w
			return
		}
	}
	f.changed = append(f.changed, w)
}

// withdraw takes back every finding that was told and that keep refuses.
func (f *follower) withdraw(keep func(*told) bool) {
	f.changed = slices.DeleteFunc(f.changed, func(w wire.Finding) bool {
		t := toldOf(&w)
		return !keep(&t) && f.toldAs(w.ID) == nil
	})
	for i := range f.told {
		if t := &f.told[i]; !t.Withdrawn && !keep(t) {
			w := f.finding(t)
			w.Open, w.Withdrawn = false, true
			f.change(w)
		}
	}
}

// drain returns what has changed enough to be told, and remembers it as told. A finding that was never told and is
// withdrawn is never told. An open finding that only grew is told again after a tenth more, or when all is set.
func (f *follower) drain(all bool) []wire.Finding {
	if len(f.changed) == 0 {
		return nil
	}
	out := make([]wire.Finding, 0, len(f.changed))
	kept := f.changed[:0]
	for _, w := range f.changed {
		old := f.toldAs(w.ID)
		if w.Withdrawn && old == nil {
			continue
		}
		if old != nil && !all && w.Open && old.Open && w.Grade == old.Grade &&
			w.DurationUS-old.DurationUS < max(time.Second.Microseconds(), old.DurationUS/10) {
			kept = append(kept, w)
			continue
		}
		if t := toldOf(&w); old != nil && sameState(old, &t) {
			continue
		}
		w.Revision = f.revision(&w)
		f.remember(&w)
		out = append(out, w)
	}
	if f.changed = kept; len(kept) == 0 {
		f.changed = nil // most streams have nothing to tell: no room is kept for it
	}
	slices.SortFunc(out, func(a, b wire.Finding) int {
		return cmp.Or(cmp.Compare(a.StartUS, b.StartUS), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func sameState(a, b *told) bool {
	return a.Open == b.Open && a.Withdrawn == b.Withdrawn && a.Grade == b.Grade && a.DurationUS == b.DurationUS && a.Evidence == b.Evidence
}

// revision grows with what is known of the stream; at the same point a closed state beats an open one. The steps
// between leave room for what the join adds to a state, see package joiner.
func (f *follower) revision(w *wire.Finding) int64 {
	r := f.knownUS * 1024
	switch {
	case w.Withdrawn:
		r += 2
	case !w.Open:
		r++
	}
	return r
}

func evidence(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // numbers and names only: can't happen
		return json.RawMessage(`{"error":` + strconv.Quote(err.Error()) + `}`)
	}
	return b
}

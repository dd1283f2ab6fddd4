package streamprocessor

import (
	"strconv"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
)

// maxChoices is how many answers of one request (n > 1) are followed.
const maxChoices = 16

// choice is what is followed of one answer besides the first.
type choice struct {
	number  uint16
	tracker stall.Tracker
}

func choiceAt(c *wire.Chunks, i int) uint16 {
	if len(c.Choice) == 0 {
		return 0
	}
	return c.Choice[i]
}

// trackerOf returns the tracker of a choice, nil for a choice too many.
func (f *follower) trackerOf(number uint16) *stall.Tracker {
	if number == 0 {
		return &f.tracker
	}
	for _, c := range f.choices {
		if c.number == number {
			return &c.tracker
		}
	}
	if len(f.choices) >= maxChoices-1 {
		return nil
	}
	c := &choice{number: number, tracker: stall.New(f.rules)}
	f.choices = append(f.choices, c)
	return &c.tracker
}

// add hands chunk i on: content to its choice, a sign of life to all of them.
func (f *follower) add(c *wire.Chunks, i int, bears bool) {
	number := choiceAt(c, i)
	if !bears {
		f.events(0, f.tracker.Add(stall.ChunkOf(c, i), nil))
		for _, o := range f.choices {
			f.events(o.number, o.tracker.Add(stall.ChunkOf(c, i), nil))
		}
		return
	}
	t := &f.tracker
	if number > 0 {
		if t = f.trackerOf(number); t == nil {
			return
		}
	}
	if f.hole {
		f.tracker.Unseen(c.T[i])
		for _, o := range f.choices {
			o.tracker.Unseen(c.T[i])
		}
	}
	f.current = number
	if said := t.Add(stall.ChunkOf(c, i), nil); len(said) > 0 {
		f.events(number, said)
	}
}

// finishChoices ends every choice. Only the one that spoke last can have been cut off in a silence: of another nobody
// knows whether it was complete.
func (f *follower) finishChoices(e stall.End) {
	finish := func(number uint16, t *stall.Tracker) {
		if number != f.current {
			e := e
			e.Done = true
			f.events(number, t.Finish(e, nil))
			return
		}
		f.events(number, t.Finish(e, nil))
	}
	finish(0, &f.tracker)
	for _, o := range f.choices {
		finish(o.number, &o.tracker)
	}
}

// stallEvidence adds the choice. Chunks are then counted within it.
type stallEvidence struct {
	stall.Evidence
	Choice uint16 `json:"choice,omitempty"`
}

// events turns what a tracker says into findings.
func (f *follower) events(number uint16, all []stall.Event) {
	for i := range all {
		e := &all[i].Finding
		w := f.base(e.Kind, "content", e.Chunk)
		if number > 0 {
			w.ID = f.id(e.Kind, "content/"+strconv.Itoa(int(number)), e.Chunk)
		}
		w.Grade, w.StartUS, w.DurationUS, w.Open = e.Grade, e.StartUS, e.DurationUS, e.Open
		w.Severity, w.Confidence = e.Severity, e.Confidence
		w.Evidence = evidence(stallEvidence{e.Evidence, number})
		w.Withdrawn = all[i].Op == stall.Withdraw
		f.change(w)
	}
}

// detector returns the loop detector of a choice, nil for a choice too many.
func (f *follower) detector(number uint16) *repetition.Detector {
	if number >= maxChoices {
		return nil
	}
	for len(f.loops) <= int(number) {
		f.loops = append(f.loops, nil)
	}
	if f.loops[number] == nil {
		f.loops[number] = repetition.New(&f.det.loop)
	}
	return f.loops[number]
}

// loopEvents turns what a loop detector says into findings.
func (f *follower) loopEvents(all []repetition.Event) {
	for i := range all {
		e := &all[i].Finding
		w := f.base(wire.FindingLoop, e.Channel.String(), e.Chunk)
		w.Open, w.Confidence, w.Severity = e.Open, e.Confidence, stall.SeverityWarning
		if e.Evidence.HitLimit {
			w.Severity = stall.SeverityCritical
		}
		w.StartUS = f.times.of(e.Chunk)
		w.DurationUS = max(0, f.times.of(e.LastChunk)-w.StartUS)
		w.Evidence = evidence(e.Evidence)
		w.Withdrawn = all[i].Op == repetition.Withdraw
		f.change(w)
	}
}

package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Found is a finding as the API tells it, as far as it is scored.
type Found struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	Grade       string          `json:"grade"`
	RequestID   string          `json:"request_id"`
	Tier        string          `json:"tier"`
	Attempt     uint32          `json:"attempt"`
	Channel     string          `json:"channel"`
	Chunk       *int64          `json:"chunk"`
	StartUS     int64           `json:"start_us"`
	DurationUS  int64           `json:"duration_us"`
	Open        bool            `json:"open"`
	Attribution string          `json:"attribution"`
	Evidence    json.RawMessage `json:"evidence"`
	Target      struct {
		Deployment string `json:"deployment"`
	} `json:"target"`
}

// Disagreement is a truth that was not found, or a finding that is not true.
type Disagreement struct {
	What      string `json:"what"` // missed, false, misplaced, mismeasured, attribution
	RequestID string `json:"request_id"`
	Kind      string `json:"kind"`
	Tier      string `json:"tier"`
	Chunk     int64  `json:"chunk"`
	Cause     string `json:"cause,omitempty"` // of a truth
	Detail    string `json:"detail"`
}

// Count is the score of one kind.
type Count struct {
	Kind     string `json:"kind"`
	Truths   int    `json:"truths"`
	Findings int    `json:"findings"`
	Right    int    `json:"right"`  // findings that are true, and the truths that they find
	Missed   int    `json:"missed"` // truths without a finding
	False    int    `json:"false"`  // findings without a truth
	Placed   int    `json:"placed"` // right ones whose chunk is right, too
	// Measured are right ones whose duration and grade are right, and that are closed.
	Measured  int     `json:"measured"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	// Attributed are right ones whose part of the way is right, of Judged whose truth names one.
	Attributed int `json:"attributed"`
	Judged     int `json:"judged"`
}

// Score is what is right and wrong of findings.
type Score struct {
	Requests int     `json:"requests"`
	Kinds    []Count `json:"kinds"`
	// EngineWide are right stalls of engines that several streams share, EngineTold those of them that say so.
	EngineWide    int            `json:"engine_wide"`
	EngineTold    int            `json:"engine_told"`
	Disagreements []Disagreement `json:"disagreements"`
}

// Compare scores findings against truths. A finding is right when a truth of its request, kind and tier has its place: truths and
// findings are paired one to one, the nearest chunks first. Findings of other requests than those that begin with prefix, and of
// targets of other traffic, are left out.
func Compare(truths []Truth, found []Found, prefix string) *Score {
	type slot struct{ request, kind, tier string }
	open := map[slot][]*Truth{}
	counts := map[string]*Count{}
	count := func(kind string) *Count {
		if counts[kind] == nil {
			counts[kind] = &Count{Kind: kind}
		}
		return counts[kind]
	}
	ids := map[string]bool{}
	events := map[string]int{} // stalls of engines
	for i := range truths {
		t := &truths[i]
		if t.shared() {
			events[t.EngineEvent]++
		}
		k := slot{t.name(), t.Kind, t.Tier}
		open[k] = append(open[k], t)
		count(t.Kind).Truths++
		ids[t.RequestID] = true
	}
	byslot := map[slot][]*Found{}
	for i := range found {
		f := &found[i]
		k := slot{f.RequestID, f.Kind, f.Tier}
		switch {
		case f.RequestID == "":
			k.request = f.Target.Deployment
			if !strings.HasSuffix(k.request, "-"+targetSuffix(prefix)) || len(byslot[k]) > 0 {
				continue // each quality of a target is a finding of its own; one is enough
			}
		case !strings.HasPrefix(f.RequestID, prefix):
			continue
		}
		byslot[k] = append(byslot[k], f)
		count(f.Kind).Findings++
	}
	s := &Score{Requests: len(ids)}
	for k, list := range byslot {
		type pair struct {
			f, t int
			off  int64
		}
		var pairs []pair
		ts := open[k]
		for i, f := range list {
			for n, t := range ts {
				pairs = append(pairs, pair{i, n, t.off(f)})
			}
		}
		slices.SortFunc(pairs, func(a, b pair) int {
			return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.f, b.f), cmp.Compare(a.t, b.t))
		})
		usedF, usedT := map[int]bool{}, map[int]bool{}
		for _, p := range pairs {
			if usedF[p.f] || usedT[p.t] {
				continue
			}
			f, t := list[p.f], ts[p.t]
			if !t.covers(f) {
				continue
			}
			usedF[p.f], usedT[p.t] = true, true
			c := count(k.kind)
			c.Right++
			if t.shared() && events[t.EngineEvent] > 1 {
				s.EngineWide++
				if strings.Contains(string(f.Evidence), `"event"`) {
					s.EngineTold++
				}
			}
			if p.off <= max(1, t.SlackChunks) {
				c.Placed++
			} else {
				s.disagree("misplaced", t.RequestID, k.kind, k.tier, chunkOf(f), t.Cause, fmt.Sprintf("true chunk %d", t.Chunk))
			}
			if wrong := t.mismeasured(f); wrong == "" {
				c.Measured++
			} else {
				s.disagree("mismeasured", t.RequestID, k.kind, k.tier, chunkOf(f), t.Cause, wrong)
			}
			if t.Attribution != "" {
				c.Judged++
				if t.Attribution == f.Attribution {
					c.Attributed++
				} else {
					s.disagree("attribution", t.RequestID, k.kind, k.tier, chunkOf(f), t.Cause, fmt.Sprintf("%s, truly %s", f.Attribution, t.Attribution))
				}
			}
		}
		var rest []*Truth
		for n, t := range ts {
			if !usedT[n] {
				rest = append(rest, t)
			}
		}
		open[k] = rest
		for i, f := range list {
			if !usedF[i] {
				count(k.kind).False++
				s.disagree("false", f.RequestID, k.kind, k.tier, chunkOf(f), "", fmt.Sprintf("%.3f s at %.3f s, %s, %s", float64(f.DurationUS)/1e6, float64(f.StartUS)/1e6, f.Attribution, f.Evidence))
			}
		}
	}
	for k, ts := range open {
		for _, t := range ts {
			count(k.kind).Missed++
			s.disagree("missed", t.RequestID, k.kind, k.tier, t.Chunk, t.Cause, fmt.Sprintf("%.3f s at %.3f s %s", float64(t.DurationUS)/1e6, float64(t.StartUS)/1e6, t.Match))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		c := counts[k]
		c.Precision, c.Recall = share(c.Right, c.Right+c.False), share(c.Right, c.Truths)
		s.Kinds = append(s.Kinds, *c)
	}
	slices.SortFunc(s.Disagreements, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.Chunk, b.Chunk))
	})
	return s
}

// durationSlackUS is how far a duration may be off: what two neighbouring chunks are apart, mostly, and the rounding of a
// place on another tier's clock.
const durationSlackUS = 150_000

// mismeasured tells what a finding at the right place says wrongly of how long and how grave it was; every stream of the
// traffic has ended, so none may be open. Kinds that are no time have no duration.
func (t *Truth) mismeasured(f *Found) string {
	slack := max(durationSlackUS, t.DurationUS/20)
	if t.SlackChunks > 0 { // its bounds are not sharp
		slack = max(slack, t.DurationUS/5)
	}
	switch {
	case f.Open:
		return "is open"
	case t.Grade != "" && f.Grade != "" && t.Grade != f.Grade:
		return f.Grade + ", truly " + t.Grade
	case t.DurationUS > 0 && (f.DurationUS < t.DurationUS-slack || f.DurationUS > t.DurationUS+slack):
		return fmt.Sprintf("%.3f s, truly %.3f s", float64(f.DurationUS)/1e6, float64(t.DurationUS)/1e6)
	}
	return ""
}

// share is 1 where there is nothing to be right or wrong about.
func share(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

func (s *Score) disagree(what, id, kind, tier string, chunk int64, cause, detail string) {
	s.Disagreements = append(s.Disagreements, Disagreement{what, id, kind, tier, chunk, cause, detail})
}

// Only returns the part of the score that is of some kinds; all where none is named.
func (s *Score) Only(kinds []string) *Score {
	if len(kinds) == 0 {
		return s
	}
	out := &Score{Requests: s.Requests, EngineWide: s.EngineWide, EngineTold: s.EngineTold}
	for _, k := range s.Kinds {
		if slices.Contains(kinds, k.Kind) {
			out.Kinds = append(out.Kinds, k)
		}
	}
	for _, d := range s.Disagreements {
		if slices.Contains(kinds, d.Kind) {
			out.Disagreements = append(out.Disagreements, d)
		}
	}
	return out
}

// Unsettled reports whether a truth is still without a finding, or a finding without a truth, which may yet be taken back.
func (s *Score) Unsettled() bool {
	return slices.ContainsFunc(s.Kinds, func(c Count) bool { return c.Missed > 0 || c.False > 0 })
}

// Of returns the score of a kind; zero counts, and so 1, where there is none.
func (s *Score) Of(kind string) Count {
	for _, c := range s.Kinds {
		if c.Kind == kind {
			return c
		}
	}
	return Count{Kind: kind, Precision: 1, Recall: 1}
}

func chunkOf(f *Found) int64 {
	if f.Chunk == nil {
		return -1
	}
	return *f.Chunk
}

func (t *Truth) name() string {
	if t.RequestID == "" {
		return t.Deployment
	}
	return t.RequestID
}

// shared reports a stall that is part of a silence of a whole engine, as the engine tells it.
func (t *Truth) shared() bool { return t.EngineEvent != "" && t.Tier == "server" }

// off is how many chunks a finding is away.
func (t *Truth) off(f *Found) int64 {
	c := chunkOf(f)
	if c < 0 || t.Chunk < 0 {
		return 0
	}
	return max(c-t.Chunk, t.Chunk-c)
}

// covers reports whether a finding is of this truth at all: the same attempt and channel, and the same stretch of the stream.
func (t *Truth) covers(f *Found) bool {
	if t.Attempt != 0 && f.Attempt != t.Attempt && f.Attempt != 0 {
		return false
	}
	switch t.Kind {
	case "loop":
		return t.Channel == f.Channel
	case "stall", "slow_episode":
		return t.off(f) <= t.SlackChunks || f.StartUS <= t.StartUS+t.DurationUS && t.StartUS <= f.StartUS+f.DurationUS
	}
	return true
}

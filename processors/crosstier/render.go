package crosstier

import (
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// shown is what the page made visible: its paints, else what entered the DOM.
func (v *view) shown() *curve {
	if v.paint.len() > 0 {
		return &v.paint
	}
	return &v.dom
}

// renderLag looks for text that was received and not shown while the page was visible.
func (v *view) renderLag() {
	s := v.shown()
	if v.r.Client == nil || v.recv.len() == 0 || s.len() == 0 {
		return
	}
	if v.typing(s) {
		return
	}
	v.freezes(s)
}

// visible is the part of a stretch in which the page was visible.
func (v *view) visible(from, until int64) int64 { return until - from - overlap(v.hidden, from, until) }

// typing finds a page that goes on painting long after the last byte, or was closed before it had shown all.
func (v *view) typing(s *curve) bool {
	last := v.recv.last()
	end := s.last()
	unpainted := int64(0)
	if rt, st := v.recv.total(), s.total(); rt > 0 && st > 0 {
		unpainted = max(0, rt-st)
	}
	c := v.r.Client
	closed := c.Closed.OK && c.Closed.V-v.origin > end
	if closed && unpainted*10 > v.recv.total() && v.recv.total() > 0 {
		end = c.Closed.V - v.origin
	}
	lag := v.visible(last, max(last, end))
	after := s.len() - sort.Search(s.len(), func(i int) bool { return s.t[i] > last })
	if lag < v.cfg.TypingFloor.Microseconds() || after < 3 {
		return false
	}
	ev := map[string]any{
		"pattern": "typing", "paints_after_last_byte": after, "lag_us": lag, "received_chunks": v.recv.len(), "paint_gap_us": s.medianGap(),
		"last_received_us": last,
	}
	if v.recv.total() > 0 && s.total() > 0 {
		ev["received_bytes"], ev["shown_bytes"] = v.recv.total(), s.total()
		ev["shown_chunks"] = sort.Search(v.recv.len(), func(i int) bool { return v.recv.bytes[i] > s.total() })
	} else {
		ev["paints"] = s.len()
	}
	v.add(wire.FindingRenderLag, wire.TierClient, -1, wire.Finding{
		StartUS: last, DurationUS: max(last, end) - last, Severity: grade(lag), Attribution: byRender, Confidence: 0.95,
	}, ev)
	return true
}

// freezes finds the stretches without a paint in which received text waited. The rest of the answer may wait for
// ever: its last stretch ends when the page closed.
func (v *view) freezes(s *curve) {
	usual := s.medianGap()
	floor := v.cfg.LagFloor.Microseconds()
	judge := func(i int, from, until int64, open bool) {
		// The first chunk that came after the last paint and had to wait.
		k := sort.Search(v.recv.len(), func(k int) bool { return v.recv.t[k] > from })
		if k == v.recv.len() || v.recv.t[k] >= until {
			return
		}
		if prev := v.waiting(s, i); prev >= 0 {
			k = min(k, prev)
		}
		waited := v.visible(max(from, v.recv.t[k]), until)
		gap := v.visible(from, until)
		if waited < floor || 2*waited < gap || usual > 0 && gap < 5*usual {
			return
		}
		got := sort.Search(v.recv.len(), func(j int) bool { return v.recv.t[j] >= until }) - k
		if got < 2 {
			return
		}
		frames := overlap(v.frames, from, until)
		ev := map[string]any{
			"pattern": "freeze", "waiting_chunks": got, "waited_us": waited, "paint_gap_us": usual, "long_frames_us": frames,
			"network_gap_us": medianGap(v.recv.t[k : k+got]),
		}
		if len(v.hidden) > 0 {
			ev["hidden_us"] = overlap(v.hidden, from, until)
		}
		confidence := 0.9
		if 2*frames >= gap {
			confidence = 1
		}
		v.add(wire.FindingRenderLag, wire.TierClient, int64(k), wire.Finding{
			StartUS: from, DurationUS: gap, Open: open, Severity: grade(gap), Attribution: byRender, Confidence: confidence,
		}, ev)
	}
	for i := 1; i < s.len(); i++ {
		judge(i, s.t[i-1], s.t[i], false)
	}
	if c := v.r.Client; c.Closed.OK && c.Closed.V-v.origin > s.last() && v.recv.total() > s.total() && s.total() > 0 {
		judge(s.len(), s.last(), c.Closed.V-v.origin, true)
	}
}

// waiting returns the first received chunk that paint i−1 had not shown, -1 where sizes don't tell.
func (v *view) waiting(s *curve, i int) int {
	if v.recv.total() == 0 || s.total() == 0 || i == 0 || s.total() > v.recv.total() {
		return -1
	}
	k := sort.Search(v.recv.len(), func(k int) bool { return v.recv.bytes[k] > s.bytes[i-1] })
	if k == v.recv.len() {
		return -1
	}
	return k
}

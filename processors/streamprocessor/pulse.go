package streamprocessor

import "time"

// pulse is what the rhythm of a stream's records tells of how far the stream was watched. A record says what happened up
// to its last chunk, or up to observed_us. What follows is not silence yet: the emitter may hold chunks back until it flushes.
type pulse struct {
	// base is the latest instant that the stream's offset 0 can have on this machine's clock: the record with the least delay.
	base  time.Time
	lagUS int64 // longest time that a chunk lately took from being made to being here; of the first chunks of records
	lowUS int64 // and the shortest
	// knownUS is the offset up to which the last record told of the stream.
	knownUS  int64
	records  uint8 // up to knownRhythm
	observes bool  // records say how far the emitter watched
	beats    bool  // and come although nothing is new
}

const (
	knownRhythm = 4 // records after which an emitter's rhythm is known well
	// firstLag is taken for the lag while but one record is known, leastLag at all times: an emitter that flushes every
	// second is judged in time, one that flushes every two is not taken for silent.
	firstLag = 3 * time.Second
	leastLag = 1500 * time.Millisecond
	// leastSpread is what an emitter may be late by although it never was.
	leastSpread = 250 * time.Millisecond
	// trustedLag is how long an emitter that says how far it watched may be without a word, until it has shown that it
	// speaks though nothing is new; then the timer judges it no more.
	trustedLag = 10 * time.Second
)

// record takes a record that came now and tells of the stream up to knownUS. firstUS is its first chunk, or negative.
func (p *pulse) record(now time.Time, firstUS, knownUS int64, observes bool) {
	p.knownUS = max(p.knownUS, knownUS)
	if base := now.Add(-us(p.knownUS)); p.base.IsZero() || base.Before(p.base) {
		p.base = base
	}
	p.lagUS -= p.lagUS / 8
	if firstUS >= 0 {
		lag := now.Sub(p.base).Microseconds() - firstUS
		p.lagUS = max(p.lagUS, lag)
		// A stream begins anywhere between two flushes: its first record is no measure.
		if p.lowUS += p.lowUS / 8; p.records > 0 && (p.lowUS == 0 || lag < p.lowUS) {
			p.lowUS = lag
		}
	}
	p.observes = p.observes || observes
	p.beats = p.beats || observes && firstUS < 0 && p.records > 0 // a first record without chunks only says that it begins
	p.records = min(p.records+1, knownRhythm)
}

// resume says that nothing could have come before now, because nobody was there to take it.
func (p *pulse) resume(now time.Time) {
	p.base = now.Add(-us(p.knownUS))
	p.records = min(p.records, 1)
}

// watched returns the offset up to which the stream is known now: a chunk before it would be here.
func (p *pulse) watched(now time.Time) int64 {
	if p.beats || p.records == 0 {
		return p.knownUS
	}
	lag := us(p.lagUS)
	switch {
	case p.observes:
		lag = max(2*lag, trustedLag)
	case p.records == 1:
		lag = max(2*lag, firstLag)
	case p.records < knownRhythm:
		lag = max(2*lag, leastLag)
	default:
		lag = max(lag+min(lag, max(2*us(p.lagUS-p.lowUS), leastSpread)), leastLag)
	}
	return max(p.knownUS, now.Add(-lag).Sub(p.base).Microseconds())
}

func us(v int64) time.Duration { return time.Duration(v) * time.Microsecond }

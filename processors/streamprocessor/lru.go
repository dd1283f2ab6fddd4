package streamprocessor

import (
	"sync"

	"github.com/fermata-io/fermata/internal/wire"
)

// shard is a part of the table with a lock of its own: streams by key, and in the order of their last record.
type shard struct {
	mu      sync.Mutex
	most    int
	streams map[key]*entry
	first   *entry // the one whose last record came last
	last    *entry
	orphans []wire.Finding // findings of streams that were given up, and of records that were refused
	told    wholes
	unsaved bool     // something changed since the last snapshot
	whole   follower // room for following one whole stream
}

// wholes remembers some streams that were told as a whole lately, by a hash, in a few kB.
type wholes [512]uint64

func (w *wholes) put(h uint64)      { w[h>>32%uint64(len(w))] = h }
func (w *wholes) has(h uint64) bool { return w[h>>32%uint64(len(w))] == h }

func (sh *shard) init(most int) { sh.most, sh.streams = most, map[key]*entry{} }

// get returns a stream and moves it to the front, nil when it isn't there.
func (sh *shard) get(k key) *entry {
	e := sh.streams[k]
	if e != nil && e != sh.first {
		sh.unlink(e)
		sh.link(e)
	}
	return e
}

// near returns a stream that differs in nothing but a start that was rounded differently.
func (sh *shard) near(k key) *entry {
	for _, d := range [...]int64{-1, 1, -2, 2} {
		n := k
		n.startedAt += d
		if e := sh.get(n); e != nil {
			return e
		}
	}
	return nil
}

// add puts a stream in front and returns the one that has to go for it, nil when there is room.
func (sh *shard) add(e *entry) (gone *entry) {
	sh.streams[e.key] = e
	sh.unsaved = true
	sh.link(e)
	if len(sh.streams) > sh.most {
		gone = sh.last
		sh.remove(gone)
	}
	return gone
}

func (sh *shard) remove(e *entry) {
	sh.unlink(e)
	sh.unsaved = true
	delete(sh.streams, e.key)
}

func (sh *shard) link(e *entry) {
	e.next = sh.first
	if sh.first != nil {
		sh.first.prev = e
	}
	sh.first = e
	if sh.last == nil {
		sh.last = e
	}
}

func (sh *shard) unlink(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		sh.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		sh.last = e.prev
	}
	e.prev, e.next = nil, nil
}

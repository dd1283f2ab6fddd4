package joiner

import (
	"container/list"
	"math"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// held is what is known of the records under one request id, and of the row that was written of them.
type held struct {
	name
	rec   requests.Records
	bytes int   // about
	whole bool  // rec is everything that was stored under the id
	first int64 // earliest instant that a record tells, µs

	rowKnown bool // row is what is stored, if anything
	row      written

	// Where pending, some records are not joined yet: the earliest of them arrived in second since.
	pending bool
	since   int64
	due     time.Time
	// young: it is new since this joiner began, so that what is stored of it was seen to arrive.
	young bool
	// told: its server and its page have told how it ended.
	told bool
	// newClocks: what it says of its page's clock may be new to its session, which has not been joined again yet.
	newClocks bool

	place *list.Element
}

// memory holds the records of recent requests, at most about so many bytes; those that are pending are not dropped.
type memory struct {
	all     map[name]*held
	order   *list.List      // of *held, the one used last in front
	owners  map[name]string // of the other names of requests that are held
	pending map[name]*held
	bytes   int
	most    int
	dropped int // since the start
}

func newMemory(most int) *memory {
	return &memory{all: map[name]*held{}, order: list.New(), owners: map[name]string{}, pending: map[name]*held{}, most: most}
}

// get returns what is held under a name, made if there is nothing.
func (m *memory) get(n name) *held {
	h := m.all[n]
	if h == nil {
		h = &held{name: n, first: math.MaxInt64}
		h.place = m.order.PushFront(h)
		m.all[n] = h
		m.grow(h, 512)
		return h
	}
	m.order.MoveToFront(h.place)
	return h
}

func (m *memory) grow(h *held, bytes int) {
	h.bytes += bytes
	m.bytes += bytes
}

// set replaces the records of h by all that are stored.
func (m *memory) set(h *held, rec requests.Records) {
	m.grow(h, 512-h.bytes)
	h.rec, h.whole = requests.Records{}, true
	m.add(h, rec)
}

// disown forgets that h's other names are its own.
func (m *memory) disown(h *held) {
	for _, a := range h.rec.Claims() {
		if n := (name{h.tenant, a}); m.owners[n] == h.id {
			delete(m.owners, n)
		}
	}
}

// forget drops the records of h; when it is joined they are read.
func (m *memory) forget(h *held) {
	m.disown(h)
	m.grow(h, 512-h.bytes)
	h.rec, h.whole = requests.Records{}, false
}

// add appends records.
func (m *memory) add(h *held, rec requests.Records) {
	size := 0
	for i := range rec.Streams {
		s := &rec.Streams[i]
		h.first = min(h.first, s.StartedAt)
		size += 1024 + chunkBytes(&s.Chunks)
	}
	for i := range rec.Gateways {
		h.first = min(h.first, rec.Gateways[i].ReceivedAt)
		size += 1024 + 256*len(rec.Gateways[i].Attempts)
	}
	for i := range rec.Clients {
		c := &rec.Clients[i]
		h.first = min(h.first, c.ReceivedAt)
		if at := c.TimeOrigin + c.Submit.V; c.TimeOrigin > 0 && c.Submit.OK && at > c.ReceivedAt-slack {
			h.first = min(h.first, at)
		}
		size += 1536 + chunkBytes(&c.Recv) + chunkBytes(&c.DOM) + chunkBytes(&c.Paint)
	}
	h.rec.Streams = append(h.rec.Streams, rec.Streams...)
	h.rec.Gateways = append(h.rec.Gateways, rec.Gateways...)
	h.rec.Clients = append(h.rec.Clients, rec.Clients...)
	for _, a := range rec.Claims() {
		m.owners[name{h.tenant, a}] = h.id
	}
	m.grow(h, size)
}

func chunkBytes(c *wire.Chunks) int {
	return 8*len(c.T) + 4*len(c.Bytes) + 4*len(c.Tokens) + len(c.Kind) + 2*len(c.Choice) + 4*len(c.Logprob)
}

// trim drops what was not used for longest until the rest fits, all that is pending excepted.
func (m *memory) trim() {
	for e := m.order.Back(); e != nil && m.bytes > m.most; {
		h := e.Value.(*held)
		e = e.Prev()
		if !h.pending {
			m.drop(h)
		}
	}
}

func (m *memory) drop(h *held) {
	m.order.Remove(h.place)
	delete(m.all, h.name)
	m.disown(h)
	m.bytes -= h.bytes
	m.dropped++
}

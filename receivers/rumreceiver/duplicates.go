package rumreceiver

import (
	"encoding/binary"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// duplicates remembers which streams of which beacons were taken; nil remembers nothing. What is forgotten and comes once
// more is stored again in the place of the first, so it costs work and changes nothing.
type duplicates struct{ seen *lru.Cache[uint64, struct{}] }

func newDuplicates(most int) (*duplicates, error) {
	if most == 0 {
		return nil, nil
	}
	l, err := lru.New[uint64, struct{}](most)
	return &duplicates{seen: l}, err
}

func (d *duplicates) known(key uint64) bool {
	_, ok := d.seen.Get(key)
	return ok
}

func (d *duplicates) add(keys []uint64) {
	for _, k := range keys {
		d.seen.Add(k, struct{}{})
	}
}

// delivery identifies the streams of one request.
type delivery struct {
	body []byte
	once string // the sender's own name of the delivery, which it keeps when it sends again; may be empty
	sum  uint64 // of body; 0: not made yet
	room []byte
}

// key identifies a stream by session and sequence, and by which stream and segment it is: so a forged or careless beacon
// never hides another. 0 as a sequence may mean that the sender doesn't count; then the body must be the same, too. ok is
// false where a record can't be told from others.
func (d *delivery) key(c *wire.Client) (key uint64, ok bool) {
	if c.SessionID == "" {
		return 0, false
	}
	b := d.room[:0]
	for _, s := range [...]string{c.Tenant, c.SessionID, c.RequestID, c.ResponseID, d.once} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(c.BeaconSeq))
	b = binary.AppendUvarint(b, uint64(c.Seq))
	submit := int64(-1)
	if c.Submit.OK {
		submit = c.Submit.V
	}
	b = binary.AppendVarint(b, submit)
	if c.BeaconSeq == 0 && d.once == "" {
		if d.sum == 0 {
			d.sum = xxh3.Hash(d.body)
		}
		b = binary.LittleEndian.AppendUint64(b, d.sum)
	}
	d.room = b
	return xxh3.Hash(b), true
}

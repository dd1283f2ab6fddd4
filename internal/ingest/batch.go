package ingest

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// Batch collects what one body turns into: log records for the pipeline, and the answer.
type Batch struct {
	now      time.Time
	logs     plog.Logs
	records  plog.LogRecordSlice
	answer   Answer
	unknown  int
	keepText bool
	taken    func()
}

// NewBatch makes an empty batch. With keepText the text of chunks goes on into the pipeline.
func NewBatch(now time.Time, keepText bool) *Batch {
	b := &Batch{now: now, logs: plog.NewLogs(), keepText: keepText}
	sl := b.logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName("fermata")
	b.records = sl.LogRecords()
	return b
}

func (b *Batch) record() plog.LogRecord {
	lr := b.records.AppendEmpty()
	lr.SetObservedTimestamp(pcommon.NewTimestampFromTime(b.now))
	return lr
}

// Logs are the records added so far.
func (b *Batch) Logs() plog.Logs { return b.logs }

// Answer is what the sender will be told when the pipeline takes the records.
func (b *Batch) Answer() Answer { return b.answer }

// Now is the receiver's clock at the request.
func (b *Batch) Now() time.Time { return b.now }

// AddStream takes a valid stream. Its text goes on only where the receiver forwards text.
func (b *Batch) AddStream(s *wire.Stream) {
	if !b.keepText {
		s.Chunks.Text = nil
	}
	streamlog.PutStream(b.record(), s)
}

// AddGateway takes a valid gateway record.
func (b *Batch) AddGateway(g *wire.Gateway) { streamlog.PutGateway(b.record(), g) }

// AddClient takes a valid client record.
func (b *Batch) AddClient(c *wire.Client) { streamlog.PutClient(b.record(), c) }

// OnTaken has f called once the pipeline took the records of this body; not when it did not. The last f counts.
func (b *Batch) OnTaken(f func()) { b.taken = f }

// Accept counts an item whose records were added.
func (b *Batch) Accept() { b.answer.Accepted++ }

// Skip counts an item that is of no use here and no mistake either.
func (b *Batch) Skip() { b.answer.Ignored++ }

// Reject counts a refused item.
func (b *Batch) Reject(e *wire.ItemError) { b.answer.reject(e) }

// Ignore counts fields that were not understood.
func (b *Batch) Ignore(fields int) { b.unknown += fields }

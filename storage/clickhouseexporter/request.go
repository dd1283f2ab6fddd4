package clickhouseexporter

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/plog"
	pdatareq "go.opentelemetry.io/collector/pdata/xpdata/request"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fermata-io/fermata/internal/otlpwire"
)

// request is what waits in the queue and is sent: log records as bytes. They are encoded once, when they come, and read once,
// straight into columns.
type request struct {
	stored  []byte   // as the queue keeps it, in the format of the Collector's own queue of logs; nil once merged
	records [][]byte // one log record each: parts of stored, or of those that were merged
	size    int      // of all that is stored
}

var errDamaged = errors.New("the queue's item is damaged")

// newRequest encodes the records of one call.
func newRequest(_ context.Context, ld plog.Logs) (xexporterhelper.Request, error) {
	if ld.LogRecordCount() == 0 {
		return &request{stored: []byte{}}, nil
	}
	stored, err := pdatareq.MarshalLogs(context.Background(), ld) // a caller's address and headers are not kept
	if err != nil {
		return nil, err
	}
	return readRequest(stored), nil
}

// readRequest finds the records in what is stored. An item that is damaged is one record that can't be written, and so goes
// where those go: the queue would delete it.
func readRequest(stored []byte) *request {
	r := &request{stored: stored, size: len(stored)}
	if len(stored) == 0 {
		return r
	}
	var err error
	if r.records, err = recordsOf(stored); err != nil {
		r.records = [][]byte{damaged(stored)}
	}
	return r
}

// recordsOf cuts an item, of which there is at least one record, into its records.
func recordsOf(stored []byte) ([][]byte, error) {
	const data = 3 // field of the queue's message
	var records [][]byte
	err := otlpwire.Each(stored, data, func(logs []byte) error {
		return otlpwire.LogRecords(logs, func(_ *otlpwire.Source, record []byte) bool {
			records = append(records, record)
			return true
		}, nil)
	})
	if err == nil && len(records) == 0 {
		err = errDamaged
	}
	return records, err
}

// eventDamaged names a log record that holds a damaged item.
const eventDamaged = "fermata.damaged"

// damaged returns a log record with the bytes as its body.
func damaged(stored []byte) []byte {
	const body, eventName, bytesValue = 5, 12, 7 // fields of LogRecord and AnyValue
	value := protowire.AppendBytes(protowire.AppendTag(nil, bytesValue, protowire.BytesType), stored)
	record := protowire.AppendBytes(protowire.AppendTag(nil, body, protowire.BytesType), value)
	return protowire.AppendString(protowire.AppendTag(record, eventName, protowire.BytesType), eventDamaged)
}

// ItemsCount is the number of records.
func (r *request) ItemsCount() int { return len(r.records) }

// BytesSize is the size in the queue.
func (r *request) BytesSize() int { return r.size }

// MergeSplit adds a request to this one, or leaves them apart when both together are above the limit. What came in one call
// is never split.
func (r *request) MergeSplit(_ context.Context, most int, by exporterhelper.RequestSizerType, more xexporterhelper.Request,
) ([]xexporterhelper.Request, error) {
	if more == nil {
		return []xexporterhelper.Request{r}, nil
	}
	o := more.(*request)
	both := len(r.records) + len(o.records)
	if by == exporterhelper.RequestSizerTypeBytes {
		both = r.size + o.size
	}
	if most > 0 && both > most {
		return []xexporterhelper.Request{r, o}, nil
	}
	r.stored, r.records, r.size = nil, append(r.records, o.records...), r.size+o.size
	return []xexporterhelper.Request{r}, nil
}

// encoding is how requests lie in the queue.
type encoding struct{}

var errMerged = errors.New("a merged request is never stored")

// Marshal returns the bytes that the request was made with.
func (encoding) Marshal(_ context.Context, r xexporterhelper.Request) ([]byte, error) {
	if b := r.(*request).stored; b != nil {
		return b, nil
	}
	return nil, errMerged
}

// Unmarshal keeps the bytes. It never fails: what can't be read is handled as what can't be written.
func (encoding) Unmarshal(b []byte) (context.Context, xexporterhelper.Request, error) {
	return context.Background(), readRequest(b), nil
}

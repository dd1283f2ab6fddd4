package clickhouseexporter

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/plog"
	pdatareq "go.opentelemetry.io/collector/pdata/xpdata/request"

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
	stored, err := pdatareq.MarshalLogs(context.Background(), ld) // a caller's address and headers are not kept
	if err != nil {
		return nil, err
	}
	return readRequest(stored)
}

// readRequest finds the records in what is stored.
func readRequest(stored []byte) (*request, error) {
	const data = 3 // field of the queue's message
	r := &request{stored: stored, size: len(stored)}
	err := otlpwire.Each(stored, data, func(logs []byte) error {
		return otlpwire.LogRecords(logs, func(_ *otlpwire.Source, record []byte) bool {
			r.records = append(r.records, record)
			return true
		}, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return r, nil
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

// Unmarshal keeps the bytes.
func (encoding) Unmarshal(b []byte) (context.Context, xexporterhelper.Request, error) {
	r, err := readRequest(b)
	if err != nil {
		return context.Background(), nil, err
	}
	return context.Background(), r, nil
}

package clickhouseexporter

import (
	"errors"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/aliases"
	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/streams"
	"github.com/fermata-io/fermata/storage/table"
)

// tableBatch is what is common to the batches of all tables.
type tableBatch interface {
	Table() string
	InsertSQL() string
	Input() proto.Input
	Len() int
	Reset()
}

// rows gathers the rows of one insert, table by table, and what identifies them.
type rows struct {
	streams  *table.Batch[streams.Row]
	gateways *table.Batch[gateways.Row]
	clients  *table.Batch[clients.Row]
	aliases  *table.Batch[aliases.Row]
	findings *table.Batch[findings.Row]

	record otlpwire.LogRecord // its room is used again
	from   wire.Stream        // likewise
	stream streams.Row        // likewise
	alias  []aliases.Row
}

func newRows() *rows {
	return &rows{
		streams: streams.Table.NewBatch(), gateways: gateways.Table.NewBatch(),
		clients: clients.Table.NewBatch(), aliases: aliases.Table.NewBatch(),
		findings: findings.Table.NewBatch(),
	}
}

// tables returns the batches in the order in which they are inserted: names of requests last, so that a name never leads
// to a request that is not there yet.
func (r *rows) tables() []tableBatch {
	return []tableBatch{r.streams, r.gateways, r.clients, r.findings, r.aliases}
}

func (r *rows) len() int {
	n := 0
	for _, t := range r.tables() {
		n += t.Len()
	}
	return n
}

func (r *rows) reset() {
	for _, t := range r.tables() {
		t.Reset()
	}
}

var errUneven = errors.New("the chunk arrays of the log record differ in length")

var errUnknownEvent = errors.New("the log record's event name is none of Fermata's")

// add appends what the record becomes. An error says that the record can't be read; reason is its class.
func (r *rows) add(record []byte, maxChunks int) (reason string, err error) {
	if err := r.record.Parse(record); err != nil {
		return reasonUnreadable, err
	}
	r.alias = r.alias[:0]
	v := streamlog.View{Attrs: r.record.Attrs, Most: maxChunks, Strings: streamlog.Shared}
	switch r.record.EventName {
	case streamlog.EventStream:
		s := &r.from
		if err := v.Stream(s); err != nil {
			return reasonUnreadable, err
		}
		if !s.Chunks.Even() {
			return reasonUnreadable, errUneven
		}
		streams.FromWire(s, &r.stream)
		r.streams.Append(&r.stream)
		r.alias = aliases.AppendStream(r.alias, s)
	case streamlog.EventGateway:
		g, err := v.Gateway()
		if err != nil {
			return reasonUnreadable, err
		}
		row := gateways.FromWire(&g)
		r.gateways.Append(&row)
		r.alias = aliases.AppendGateway(r.alias, &g)
	case streamlog.EventClient:
		c, err := v.Client()
		if err != nil {
			return reasonUnreadable, err
		}
		if !c.Recv.Even() || !c.DOM.Even() || !c.Paint.Even() {
			return reasonUnreadable, errUneven
		}
		row := clients.FromWire(&c)
		r.clients.Append(&row)
		r.alias = aliases.AppendClient(r.alias, &c)
	case streamlog.EventFinding:
		f, err := v.Finding()
		if err != nil {
			return reasonUnreadable, err
		}
		row := findings.FromWire(&f, findings.OriginStream)
		r.findings.Append(&row)
	case eventDamaged:
		return reasonUnreadable, errDamaged
	default:
		return reasonUnknown, errUnknownEvent
	}
	for i := range r.alias {
		r.aliases.Append(&r.alias[i])
	}
	return "", nil
}

package clickhouseexporter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"
)

// durable closes the ways in which exporterhelper's persistent queue (v0.165) can lose what it has accepted:
//
//   - At start it deletes the items that were being sent when the process died, and only then puts them back at the end
//     of the queue. A process that dies in between, or a disk that is full by then, loses them. durable holds such
//     deletions back until every item is back in the queue, and refuses to start when one could not be put back.
//   - When it can't note that it took an item (a full disk), it gives the item up and deletes it. durable does not note it
//     at all, which spares a write: an item that is there was not sent, and is read again after a crash.
//   - When an item can't be read it deletes it. durable writes nothing from then on and ends the collector: who starts it
//     again, on a storage that can be read, has all of it.
//   - When a deletion fails it forgets it. durable repeats it with the next write.
//
// And it spares two of the three writes that the queue makes for an item, each with its fsync: an item that comes back from
// the queue soon is given from memory, and one that is done is deleted with the next write. A process that dies before
// sends a few items again, which are stored once all the same.
//
// It also keeps the items apart, from each other and from the queue's small record of itself: file storage is a B+tree
// whose leaves hold up to four keys, so that each change would rewrite up to three items of megabytes beside it.
//
// It stands between the queue and the storage extension, and hands on everything else unchanged.
type durable struct {
	exporter.Logs
	storage component.ID
	log     *zap.Logger
}

// Start starts the exporter with a host that shows the storage extension through guards.
func (d *durable) Start(ctx context.Context, host component.Host) error {
	h := &guardHost{Host: host, id: d.storage, log: d.log}
	if err := d.Logs.Start(ctx, h); err != nil {
		return err
	}
	for _, c := range h.opened() {
		if err := c.started(ctx); err != nil {
			return errors.Join(fmt.Errorf("sending_queue: could not take up what was in flight when the collector ended: %w", err),
				d.Shutdown(ctx))
		}
	}
	return nil
}

type guardHost struct {
	component.Host
	id  component.ID
	log *zap.Logger

	mu      sync.Mutex
	clients []*guardClient
}

// GetExtensions returns the host's extensions, the storage extension guarded.
func (h *guardHost) GetExtensions() map[component.ID]component.Component {
	all := maps.Clone(h.Host.GetExtensions())
	if ext, ok := all[h.id].(storage.Extension); ok {
		all[h.id] = &guardExtension{Extension: ext, host: h}
	}
	return all
}

func (h *guardHost) opened() []*guardClient {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clients
}

type guardExtension struct {
	storage.Extension
	host *guardHost
}

// GetClient returns the extension's client, guarded.
func (e *guardExtension) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	c, err := e.Extension.GetClient(ctx, kind, id, name)
	if err != nil {
		return nil, err
	}
	if err := setSpacers(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("sending_queue: %w", err), c.Close(ctx))
	}
	g := &guardClient{Client: c, log: e.host.log, starting: true, kept: map[string][]byte{}, fatal: func(err error) {
		componentstatus.ReportStatus(e.host.Host, componentstatus.NewFatalErrorEvent(err))
	}}
	e.host.mu.Lock()
	e.host.clients = append(e.host.clients, g)
	e.host.mu.Unlock()
	return g, nil
}

// spacers sort between the items, whose keys are numbers, and the queue's record of itself, "qmv0": with three of them a
// leaf never holds both.
var spacers = []string{"q-1", "q-2", "q-3"}

func setSpacers(ctx context.Context, c storage.Client) error {
	last, err := c.Get(ctx, spacers[len(spacers)-1])
	if err != nil || len(last) > 0 {
		return err
	}
	ops := make([]*storage.Operation, len(spacers))
	for i, key := range spacers {
		ops[i] = storage.SetOperation(key, []byte{0})
	}
	return c.Batch(ctx, ops...)
}

// apart is how many spacers follow an item: with as many, a leaf never holds two items (what is written for an item
// falls from seven times its size to 1.02 times).
const apart = 4

// spaced adds the spacers of items to the writes: they come and go with their item.
func spaced(ops []*storage.Operation) []*storage.Operation {
	out := ops
	for _, op := range ops {
		if op.Type == storage.Get || !isItem(op.Key) {
			continue
		}
		for i := range apart {
			s := &storage.Operation{Key: op.Key + "-" + strconv.Itoa(i), Type: op.Type}
			if op.Type == storage.Set {
				s.Value = []byte{0}
			}
			out = append(out, s)
		}
	}
	return out
}

// isItem reports whether a key is that of an item: a number.
func isItem(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == ""
}

const (
	// mostOwed bounds the deletions that are remembered; beyond it an item stays in the file, which costs space only.
	mostOwed = 10_000
	// mostHeld is how many of them wait for the next item before they are written without one.
	mostHeld = 16
	// mostInMemory is how many bytes of items that were just put are kept in memory, until they are read.
	mostInMemory = 32 << 20
)

type guardClient struct {
	storage.Client
	log *zap.Logger

	mu       sync.Mutex
	starting bool                 // the queue is taking up what was in flight
	failed   error                // a put of that time failed, or a read: nothing may be written any more
	owed     []string             // keys to delete with the next write
	noted    []*storage.Operation // the queue's record of itself that goes with them
	kept     map[string][]byte    // items in memory
	size     int                  // of kept
	fatal    func(error)          // ends the collector
}

// Batch does what the extension's does, but for the cases that durable names.
func (g *guardClient) Batch(ctx context.Context, ops ...*storage.Operation) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed != nil {
		return g.failed
	}
	var gets, sets, deletes []*storage.Operation
	taken := false
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			if g.fromMemory(op) {
				taken = true
			} else {
				gets = append(gets, op)
			}
		case storage.Set:
			sets = append(sets, op)
		case storage.Delete:
			deletes = append(deletes, op)
		}
	}
	switch {
	case len(gets) > 0:
		return g.read(ctx, gets)
	case taken:
		return nil
	case len(deletes) > 0:
		return g.done(ctx, sets, deletes)
	default:
		return g.put(ctx, sets)
	}
}

// fromMemory answers a read of an item that was just put; g.mu is held, as in all that follows.
func (g *guardClient) fromMemory(op *storage.Operation) (ok bool) {
	if op.Value, ok = g.kept[op.Key]; ok {
		g.size -= len(op.Value)
		delete(g.kept, op.Key)
	}
	return ok
}

// read reads items and does not note that they were taken.
func (g *guardClient) read(ctx context.Context, gets []*storage.Operation) error {
	err := g.Client.Batch(ctx, gets...)
	if err != nil {
		g.failed = fmt.Errorf("sending_queue: its storage can't be read: %w", err)
		g.fatal(g.failed)
	}
	return err
}

// put writes an item, and with it deletes those that are done. Where there is no room for it they go first.
func (g *guardClient) put(ctx context.Context, sets []*storage.Operation) error {
	err := g.write(ctx, sets)
	if err != nil && !g.starting && len(g.owed) > 0 && g.write(ctx, nil) == nil {
		err = g.write(ctx, sets)
	}
	if err != nil && g.starting {
		g.failed = err
	}
	if err != nil {
		return err
	}
	for _, op := range sets {
		if isItem(op.Key) && g.size+len(op.Value) <= mostInMemory {
			g.kept[op.Key] = op.Value
			g.size += len(op.Value)
		}
	}
	return nil
}

// done owes the deletions of items, and makes them when enough wait. One that fails stays owed.
func (g *guardClient) done(ctx context.Context, noted, deletes []*storage.Operation) error {
	for _, op := range deletes {
		if len(g.owed) < mostOwed {
			g.owed = append(g.owed, op.Key)
		}
	}
	if g.noted = noted; g.starting || len(g.owed) < mostHeld {
		return nil
	}
	if err := g.write(ctx, noted); err != nil { // a full disk takes deletions only
		_ = g.write(ctx, nil)
	}
	return nil
}

// write writes sets and makes the deletions that are owed, but for those of the time of taking up.
func (g *guardClient) write(ctx context.Context, sets []*storage.Operation) error {
	ops := slices.Clone(sets)
	if !g.starting {
		for _, key := range g.owed {
			ops = append(ops, storage.DeleteOperation(key))
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if err := g.Client.Batch(ctx, spaced(ops)...); err != nil {
		return err
	}
	if !g.starting {
		g.owed, g.noted = nil, nil
	}
	return nil
}

// started ends the time of taking up: it deletes what has been put back under new keys.
func (g *guardClient) started(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting = false
	if g.failed != nil {
		return g.failed
	}
	if err := g.write(ctx, nil); err != nil {
		g.log.Warn("the queue's storage can't be written; its clean-up is repeated later", zap.Error(err))
	}
	return nil
}

// Close makes the deletions that are owed.
func (g *guardClient) Close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	if g.failed == nil {
		err = g.write(ctx, g.noted)
	}
	return errors.Join(err, g.Client.Close(ctx))
}

// Get, Set and Delete go the same way as a batch of one.
func (g *guardClient) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := g.Batch(ctx, op)
	return op.Value, err
}

// Set stores one value.
func (g *guardClient) Set(ctx context.Context, key string, value []byte) error {
	return g.Batch(ctx, storage.SetOperation(key, value))
}

// Delete removes one value.
func (g *guardClient) Delete(ctx context.Context, key string) error {
	return g.Batch(ctx, storage.DeleteOperation(key))
}

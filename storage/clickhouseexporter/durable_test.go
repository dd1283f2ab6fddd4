package clickhouseexporter

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
)

// memStorage is a storage extension whose writes the test can refuse, and whose states over time it can go back to: each
// is what a process that dies right then leaves behind.
type memStorage struct {
	component.StartFunc
	component.ShutdownFunc

	mu     sync.Mutex
	data   map[string][]byte
	states []map[string][]byte
	refuse func(sets, deletes int) error
	broken error // of reads
}

func newMemStorage(data map[string][]byte) *memStorage {
	return &memStorage{data: maps.Clone(data), states: []map[string][]byte{maps.Clone(data)}}
}

func (m *memStorage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return &memClient{m}, nil
}

func (m *memStorage) setRefuse(f func(sets, deletes int) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = f
}

func (m *memStorage) state() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.data)
}

type memClient struct{ m *memStorage }

func (c *memClient) Batch(_ context.Context, ops ...*storage.Operation) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	sets, deletes := 0, 0
	for _, op := range ops {
		switch op.Type {
		case storage.Set:
			sets++
		case storage.Delete:
			deletes++
		case storage.Get:
		}
	}
	if c.m.refuse != nil && sets+deletes > 0 {
		if err := c.m.refuse(sets, deletes); err != nil {
			return err
		}
	}
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			if c.m.broken != nil {
				return c.m.broken
			}
			op.Value = c.m.data[op.Key]
		case storage.Set:
			if c.m.data == nil {
				c.m.data = map[string][]byte{}
			}
			c.m.data[op.Key] = op.Value
		case storage.Delete:
			delete(c.m.data, op.Key)
		}
	}
	if sets+deletes > 0 {
		c.m.states = append(c.m.states, maps.Clone(c.m.data))
	}
	return nil
}

func (c *memClient) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

func (c *memClient) Set(ctx context.Context, key string, v []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, v))
}

func (c *memClient) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

func (c *memClient) Close(context.Context) error { return nil }

// sink is what the queue delivers to.
type sink struct {
	mu    sync.Mutex
	away  bool // every delivery fails
	tried int
	got   map[string]bool
}

func (s *sink) push(_ context.Context, l plog.Logs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried++
	if s.away {
		return errors.New("away")
	}
	for _, rl := range l.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				s.got[lr.Body().Str()] = true
			}
		}
	}
	return nil
}

func (s *sink) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *sink) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried
}

func (s *sink) delivered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

const inFlight = 3

func newDurable(t *testing.T, away bool) (*durable, *sink) {
	t.Helper()
	s := &sink{away: away, got: map[string]bool{}}
	q := exporterhelper.NewDefaultQueueConfig()
	q.StorageID, q.NumConsumers, q.QueueSize = &storageID, inFlight, 100
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval, retry.MaxInterval, retry.MaxElapsedTime = time.Millisecond, time.Millisecond, 0
	inner, err := exporterhelper.NewLogs(t.Context(), settings(), struct{}{}, s.push,
		exporterhelper.WithQueue(configoptional.Some(q)), exporterhelper.WithRetry(retry))
	require.NoError(t, err)
	return &durable{Logs: inner, storage: storageID, log: zap.NewNop()}, s
}

func one(body string) plog.Logs {
	l := plog.NewLogs()
	l.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(body)
	return l
}

var bodies = []string{"a", "b", "c", "d", "e", "f", "g"}

// inFlightState is what a process leaves behind that dies with some items being sent and others waiting.
func inFlightState(t *testing.T) map[string][]byte {
	t.Helper()
	mem := newMemStorage(nil)
	d, s := newDurable(t, true)
	require.NoError(t, d.Start(t.Context(), host{storageID: mem}))
	last := len(bodies) - 1
	for _, b := range bodies[:last] {
		require.NoError(t, d.ConsumeLogs(t.Context(), one(b)))
	}
	require.Eventually(t, func() bool { return s.attempts() > 2*inFlight }, patience, time.Millisecond)
	require.NoError(t, d.ConsumeLogs(t.Context(), one(bodies[last])), "which notes what is in flight")
	left := mem.state()
	require.NoError(t, d.Shutdown(t.Context()))
	return left
}

func requireAllDelivered(t *testing.T, state map[string][]byte) {
	t.Helper()
	d, s := newDurable(t, false)
	require.NoError(t, d.Start(t.Context(), host{storageID: newMemStorage(state)}))
	require.Eventually(t, func() bool { return s.delivered() == len(bodies) }, patience, time.Millisecond,
		"an item that was accepted is lost")
	require.NoError(t, d.Shutdown(t.Context()))
}

// A process may die again at any moment of its start.
func TestDurableDyingWhileStarting(t *testing.T) {
	mem := newMemStorage(inFlightState(t))
	d, s := newDurable(t, true)
	require.NoError(t, d.Start(t.Context(), host{storageID: mem}))
	require.Eventually(t, func() bool { return s.attempts() > 2*inFlight }, patience, time.Millisecond)
	mem.mu.Lock()
	states := mem.states
	mem.mu.Unlock()
	require.NoError(t, d.Shutdown(t.Context()))
	require.Greater(t, len(states), inFlight)
	for _, state := range states {
		requireAllDelivered(t, state)
	}
}

func TestDurableFullDiskWhileStarting(t *testing.T) {
	state := inFlightState(t)
	mem := newMemStorage(state)
	n := 0
	mem.setRefuse(func(sets, _ int) error {
		if sets == 0 {
			return nil // deleting needs no space
		}
		if n++; n > 1 {
			return storage.ErrStorageFull
		}
		return nil
	})
	d, _ := newDurable(t, true)
	err := d.Start(t.Context(), host{storageID: mem})
	require.ErrorIs(t, err, storage.ErrStorageFull)
	require.ErrorContains(t, err, "sending_queue")
	requireAllDelivered(t, mem.state())
}

// holding returns a queue that holds the bodies, some of them being sent in vain.
func holding(t *testing.T) (*memStorage, *durable, *sink) {
	t.Helper()
	mem := newMemStorage(nil)
	d, s := newDurable(t, true)
	require.NoError(t, d.Start(t.Context(), host{storageID: mem}))
	for _, b := range bodies {
		require.NoError(t, d.ConsumeLogs(t.Context(), one(b)))
	}
	require.Eventually(t, func() bool { return s.attempts() > inFlight }, patience, time.Millisecond)
	return mem, d, s
}

func TestDurableFullDiskWhileRunning(t *testing.T) {
	mem, d, s := holding(t)
	mem.setRefuse(func(sets, _ int) error {
		if sets > 0 {
			return storage.ErrStorageFull
		}
		return nil
	})
	require.ErrorIs(t, d.ConsumeLogs(t.Context(), one("refused")), storage.ErrStorageFull)
	s.set(false)
	require.Eventually(t, func() bool { return s.delivered() == len(bodies) }, patience, time.Millisecond,
		"items that can't be noted as taken are sent all the same")
	mem.setRefuse(nil)
	require.NoError(t, d.ConsumeLogs(t.Context(), one("h")))
	require.Eventually(t, func() bool { return s.delivered() == len(bodies)+1 }, patience, time.Millisecond)
	require.NoError(t, d.Shutdown(t.Context()))
	require.Len(t, mem.state(), 1+len(spacers),
		"owed deletions are made good: nothing but the queue's own record and the spacers are left")
}

// statusHost remembers what a component says of itself.
type statusHost struct {
	host
	mu   sync.Mutex
	last *componentstatus.Event
}

func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = e
}

func (h *statusHost) status() componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		return componentstatus.StatusNone
	}
	return h.last.Status()
}

// A storage that can't be read loses nothing of what it holds.
func TestDurableUnreadable(t *testing.T) {
	mem, d, _ := holding(t)
	left := mem.state() // read from the file, not from memory
	require.NoError(t, d.Shutdown(t.Context()))

	mem = newMemStorage(left)
	d, s := newDurable(t, true)
	h := &statusHost{host: host{storageID: mem}}
	require.NoError(t, d.Start(t.Context(), h))
	require.Eventually(t, func() bool { return s.attempts() > inFlight }, patience, time.Millisecond)
	mem.mu.Lock()
	mem.broken = errors.New("bad sector")
	mem.mu.Unlock()
	s.set(false)
	require.Eventually(t, func() bool { return h.status() == componentstatus.StatusFatalError }, patience, time.Millisecond)
	require.ErrorContains(t, d.ConsumeLogs(t.Context(), one("refused")), "bad sector")
	_ = d.Shutdown(t.Context())
	requireAllDelivered(t, mem.state())
}

func TestDurableWithoutItsStorage(t *testing.T) {
	d, _ := newDurable(t, false)
	require.Error(t, d.Start(t.Context(), host{}))
	require.NoError(t, d.Shutdown(t.Context()))
}

// The spacers of an item come and go with it, in the same write.
func TestItemsAreKeptApart(t *testing.T) {
	mem := newMemStorage(nil)
	h := &guardHost{log: zap.NewNop()}
	c, err := (&guardExtension{Extension: mem, host: h}).GetClient(t.Context(), component.KindExporter, component.ID{}, "")
	require.NoError(t, err)
	g := h.opened()[0]
	require.NoError(t, g.started(t.Context()))
	empty := mem.state()
	require.Len(t, empty, len(spacers))

	require.NoError(t, c.Batch(t.Context(), storage.SetOperation("12", []byte("item")), storage.SetOperation("qmv0", []byte{1})))
	require.Len(t, mem.state(), len(empty)+2+apart)
	for range 2 { // from memory, from the file
		v, err := c.Get(t.Context(), "12")
		require.NoError(t, err)
		require.Equal(t, "item", string(v))
	}

	require.NoError(t, c.Batch(t.Context(), storage.DeleteOperation("12"), storage.SetOperation("qmv0", []byte{2})))
	require.Len(t, mem.state(), len(empty)+2+apart, "deletions wait for the next item")
	require.NoError(t, c.Batch(t.Context(), storage.SetOperation("13", []byte("next")), storage.SetOperation("qmv0", []byte{3})))
	require.Len(t, mem.state(), len(empty)+2+apart)
	require.NotContains(t, mem.state(), "12")
	require.NoError(t, c.Batch(t.Context(), storage.DeleteOperation("13"), storage.SetOperation("qmv0", []byte{4})))
	require.NoError(t, c.Close(t.Context()))
	require.Len(t, mem.state(), len(empty)+1)
	require.Equal(t, []byte{4}, mem.state()["qmv0"])
}

// Without a next item, deletions are made when enough of them wait.
func TestDeletionsDoNotWaitForEver(t *testing.T) {
	mem := newMemStorage(nil)
	h := &guardHost{log: zap.NewNop()}
	c, err := (&guardExtension{Extension: mem, host: h}).GetClient(t.Context(), component.KindExporter, component.ID{}, "")
	require.NoError(t, err)
	require.NoError(t, h.opened()[0].started(t.Context()))
	for i := range mostHeld {
		require.NoError(t, c.Set(t.Context(), strconv.Itoa(i), []byte("item")))
	}
	mem.setRefuse(func(sets, _ int) error {
		if sets > 0 {
			return storage.ErrStorageFull
		}
		return nil
	})
	for i := range mostHeld {
		require.Contains(t, mem.state(), strconv.Itoa(i))
		require.NoError(t, c.Batch(t.Context(), storage.DeleteOperation(strconv.Itoa(i)), storage.SetOperation("qmv0", []byte{1})))
	}
	require.Len(t, mem.state(), len(spacers), "though the disk is full")
}

// A full disk gives the room of what is done before it refuses an item.
func TestOwedDeletionsMakeRoom(t *testing.T) {
	mem := newMemStorage(nil)
	h := &guardHost{log: zap.NewNop()}
	c, err := (&guardExtension{Extension: mem, host: h}).GetClient(t.Context(), component.KindExporter, component.ID{}, "")
	require.NoError(t, err)
	require.NoError(t, h.opened()[0].started(t.Context()))
	require.NoError(t, c.Set(t.Context(), "1", []byte("item")))
	require.NoError(t, c.Delete(t.Context(), "1"))
	mem.setRefuse(func(sets, deletes int) error {
		if sets > 0 && deletes > 0 {
			return storage.ErrStorageFull // what is freed can be used after the commit only
		}
		return nil
	})
	require.NoError(t, c.Set(t.Context(), "2", []byte("item")))
	require.NotContains(t, mem.state(), "1")
	require.Contains(t, mem.state(), "2")
}

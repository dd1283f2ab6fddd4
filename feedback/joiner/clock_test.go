package joiner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// Where the database's clock was set back, everything that is remembered of it goes back with it.
func TestClockSetBack(t *testing.T) {
	r := newRig(t)
	r.look(t)
	ahead := time.Now().Add(time.Hour).Unix()
	r.w.from, r.w.saved, r.w.eventsFrom = ahead, ahead, ahead
	var told []string
	r.w.warn = func(s string) { told = append(told, s) }
	r.w.follow()
	require.Less(t, r.w.from, time.Now().Unix())
	require.Equal(t, r.w.from, r.w.saved)
	require.Equal(t, r.w.from, r.w.handled())
	require.Len(t, told, 1)
}

// What a failed look read is dropped, so that trying again and again takes no more memory.
func TestForget(t *testing.T) {
	m := newMemory(1 << 20)
	h := m.get(name{"t", "a"})
	empty := m.bytes
	for range 3 {
		m.add(h, requests.Records{Streams: []wire.Stream{{RequestID: "a", Tenant: "t", Tier: wire.TierServer, ResponseID: "chatcmpl-1", StartedAt: 7}}})
		h.whole = true
		require.Greater(t, m.bytes, empty)
		m.forget(h)
		require.Equal(t, empty, m.bytes)
		require.Empty(t, m.owners)
		require.False(t, h.whole)
		require.EqualValues(t, 7, h.first, "when it began is known still")
	}
}

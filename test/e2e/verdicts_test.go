package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/simulate"
)

// Loops are found where no text is sent: by keyed hashes of words, by token ids, and by what the engine itself says; and a stream
// that falls silent for ever is told without waiting for its end.
func TestWithoutText(t *testing.T) {
	u := running(t)
	const tenant = "without-text"
	hash := func(word string) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte("key of this sender " + word))
		return h.Sum64()
	}
	// A word a chunk: 80 that differ, then a sentence of 14 words again and again.
	sentence := strings.Fields("the ferry left the harbour before anybody had noticed that its bell was gone again")
	var looped, sound []uint64
	for i := range 80 {
		looped = append(looped, hash(fmt.Sprint("word", i)))
	}
	for i := range 14 * 9 {
		looped = append(looped, hash(sentence[i%len(sentence)]))
	}
	for i := range len(looped) {
		sound = append(sound, hash(fmt.Sprint("other", i*i%977)))
	}
	send := func(id, finish string, more map[string]any, hashes func(i int) any, list []uint64) {
		t.Helper()
		chunks := map[string]any{}
		var at []int64
		var bytes []int
		var of []any
		for i := range list {
			at, bytes = append(at, int64(200_000+i*25_000)), append(bytes, 5)
			if hashes != nil {
				of = append(of, hashes(i))
			}
		}
		chunks["t"], chunks["bytes"] = at, bytes
		if hashes != nil {
			chunks["hashes"] = of
		}
		body := map[string]any{
			"request_id": id, "tenant": tenant, "started_at": time.Now().Add(-time.Minute).UnixMicro(), "model": "m", "emitter": "engine",
			"finish_reason": finish, "chunks": chunks,
		}
		for k, v := range more {
			body[k] = v
		}
		code, answer := u.postJSON(t, "/v1/chunks", body)
		require.Equal(t, http.StatusOK, code, "%s", answer)
	}
	send("hashes", "length", nil, func(i int) any { return fmt.Sprintf("%x", looped[i]) }, looped)
	send("ids", "length", nil, func(i int) any { return []uint64{looped[i] % 150_000} }, looped)
	send("sound", "length", nil, func(i int) any { return fmt.Sprintf("%016X", sound[i]) }, sound)
	send("verdict", "repetition", nil, nil, looped)
	send("detail", "stop", map[string]any{"stop_reason": "repetition_detected"}, nil, looped)
	// S06: five chunks, then nothing for three minutes, and nobody says that it ended.
	send("silent", "", map[string]any{"observed_us": 180_000_000, "final": false, "seq": 0}, nil, looped[:5])

	u.eventuallyOf(t, "sound", tenant)
	found := map[string][]simulate.Found{}
	require.Eventually(t, func() bool {
		clear(found)
		for _, f := range u.found(t, "tenant="+tenant) {
			found[f.RequestID] = append(found[f.RequestID], f)
		}
		return len(found) >= 5
	}, 2*time.Minute, 100*time.Millisecond, "found: %v", found)
	for _, id := range []string{"hashes", "ids", "verdict", "detail"} {
		require.Len(t, found[id], 1, id)
		require.Equal(t, "loop", found[id][0].Kind, id)
		require.False(t, found[id][0].Open, id)
	}
	for _, id := range []string{"hashes", "ids"} {
		require.InDelta(t, 80, *found[id][0].Chunk, 1, id)
		var ev struct {
			Period   int  `json:"period_chars"`
			Repeats  int  `json:"repeats"`
			HitLimit bool `json:"hit_limit"`
		}
		require.NoError(t, json.Unmarshal(found[id][0].Evidence, &ev))
		require.True(t, ev.HitLimit)
		require.InDelta(t, 9, ev.Repeats, 1)
		require.Equal(t, len(sentence), ev.Period, "a period is counted in words where text isn't known")
	}
	require.Empty(t, found["sound"])
	require.Len(t, found["silent"], 1)
	silent := found["silent"][0]
	require.Equal(t, "stall", silent.Kind)
	require.True(t, silent.Open)
	require.GreaterOrEqual(t, silent.DurationUS, int64(179_000_000))

	code, answer := u.postJSON(t, "/v1/chunks", map[string]any{
		"request_id": "wrong", "started_at": time.Now().UnixMicro(), "chunks": map[string]any{"t": []int{1}, "hashes": []string{"no hash"}},
	})
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, string(answer), "hexadecimal")
}

// eventuallyOf waits until a request of a tenant is known.
func (u *up) eventuallyOf(t *testing.T, id, tenant string) {
	t.Helper()
	require.Eventually(t, func() bool {
		code, _ := u.get(t, "/v1/requests/"+id+"?tenant="+tenant)
		return code == http.StatusOK
	}, 2*time.Minute, 50*time.Millisecond, id)
}

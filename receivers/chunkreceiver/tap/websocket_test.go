package tap_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

// A realtime session passes both ways; the upstream's messages are recorded, compressed or not.
func TestWebSocket(t *testing.T) {
	for name, mode := range map[string]websocket.CompressionMode{
		"plain": websocket.CompressionDisabled, "deflate": websocket.CompressionContextTakeover, "deflate, no context": websocket.CompressionNoContextTakeover,
	} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat("word ", 300)
			b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: mode, CompressionThreshold: 1})
				if err != nil {
					return
				}
				defer func() { _ = c.CloseNow() }()
				c.SetReadLimit(1 << 20)
				ctx := r.Context()
				for {
					typ, msg, err := c.Read(ctx)
					if err != nil {
						return
					}
					if typ == websocket.MessageBinary {
						_ = c.Write(ctx, typ, msg)
						continue
					}
					if strings.Contains(string(msg), "bye") {
						_ = c.Close(websocket.StatusNormalClosure, "")
						return
					}
					for _, m := range []string{
						`{"type":"response.created","response":{"id":"r1"}}`,
						`{"type":"response.output_text.delta","delta":"` + long + `"}`,
						`{"type":"response.output_text.delta","delta":"b"}`,
						`{"type":"response.done","response":{"id":"r1","status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}`,
					} {
						if c.Write(ctx, websocket.MessageText, []byte(m)) != nil {
							return
						}
					}
				}
			}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c, res, err := websocket.Dial(ctx, b.url+"/v1/realtime?model=gpt-rt", &websocket.DialOptions{ //nolint:bodyclose // not to be closed, says its documentation
				CompressionMode: mode, HTTPHeader: http.Header{"X-Request-Id": {"ws"}},
			})
			require.NoError(t, err)
			require.Equal(t, "ws", res.Header.Get("X-Request-Id"))
			c.SetReadLimit(1 << 20)
			require.NoError(t, c.Write(ctx, websocket.MessageText, []byte(`{"type":"response.create"}`)))
			for i := range 4 {
				_, msg, err := c.Read(ctx)
				require.NoError(t, err)
				if i == 1 {
					require.Contains(t, string(msg), long)
				}
			}
			payload := make([]byte, 70_000)
			require.NoError(t, c.Write(ctx, websocket.MessageBinary, payload))
			_, msg, err := c.Read(ctx)
			require.NoError(t, err)
			require.Equal(t, payload, msg)
			require.NoError(t, c.Write(ctx, websocket.MessageText, []byte(`bye`)))
			_, _, err = c.Read(ctx)
			require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err))

			rec := b.whole(t, "ws")
			require.Equal(t, []wire.Kind{wire.KindRole, wire.KindContent, wire.KindContent, wire.KindDone, wire.KindRole, wire.KindDone}, rec.Chunks.Kind)
			require.Equal(t, []uint32{0, 1500, 1, 0, 0, 0}, rec.Chunks.Bytes)
			require.Equal(t, "completed", rec.FinishReason)
			require.Equal(t, "r1", rec.ResponseID)
			require.Equal(t, "gpt-rt", rec.Model)
			require.EqualValues(t, 101, rec.Status)
			require.Equal(t, wire.Some[int64](2), rec.OutputTokens)
			require.Empty(t, rec.ErrorType)
		})
	}
}

package sender_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/sender"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Items for different endpoints fill batches of their own; what is busy is asked again.
func TestBatchesForEachEndpoint(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]int{}
	busy := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if busy {
			busy = false
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		n := bytes.Count(body, []byte("\n"))
		got[r.URL.Path] = append(got[r.URL.Path], n)
		_, _ = fmt.Fprintf(w, `{"accepted":%d,"rejected":0}`, n)
	}))
	defer srv.Close()
	s := sender.New(0, time.Minute)
	defer s.Close()
	require.NoError(t, s.To(client.Where{}, srv.URL, srv.URL))
	for i := range 1500 {
		path := "/v1/chunks"
		if i%3 == 0 {
			path = "/v1/rum"
		}
		require.NoError(t, s.Add(context.Background(), sender.Item{Path: path, ID: fmt.Sprint(i), Body: []byte("{}"), N: 1}))
	}
	require.NoError(t, s.Flush(context.Background()))
	require.Equal(t, map[string][]int{"/v1/chunks": {1000}, "/v1/rum": {500}}, got)
	require.Equal(t, 1500, s.Accepted)
}

func TestWrongAddress(t *testing.T) {
	s := sender.New(0, time.Minute)
	defer s.Close()
	err := s.To(client.Where{}, "ftp://x", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "--ingest")
	require.Equal(t, cli.CodeUsage, cli.ExitCode(err))
}

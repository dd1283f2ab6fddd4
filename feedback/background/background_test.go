package background

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWorker(t *testing.T) {
	var w Worker
	require.NoError(t, w.Stop(t.Context()), "nothing runs")
	failed := errors.New("no database")
	require.ErrorIs(t, w.Start(t.Context(), func() (func(context.Context), error) { return nil, failed }), failed)
	require.NoError(t, w.Stop(t.Context()))

	ctx, cancel := context.WithCancel(t.Context())
	hold := make(chan struct{})
	require.NoError(t, w.Start(ctx, func() (func(context.Context), error) {
		return func(ctx context.Context) { <-ctx.Done(); <-hold }, nil
	}))
	cancel() // that of the start ends nothing
	require.ErrorIs(t, w.Stop(ctx), context.Canceled, "it waits no longer than asked")
	close(hold)
	require.NoError(t, w.Stop(t.Context()), "a second stop does nothing")
}

func TestComplaint(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	var c Complaint
	for range 3 {
		c.Tell(zap.New(core), "trouble", errors.New("away"))
	}
	require.Equal(t, 1, logs.Len())
}

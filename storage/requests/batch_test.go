package requests_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest"
)

// Requests read together are what each is alone.
func TestRequestsEqualRequest(t *testing.T) {
	db := storagetest.New(t)
	store := requests.New(db.Conn, requests.ReadLimits{})
	want, rec := stories(60)
	insert(t, db, rec, 3)
	ids := []string{"nobody"}
	for id := range want {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	got, err := store.Requests(t.Context(), "default", ids)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for _, r := range got {
		require.Equal(t, jsonOf(t, want[r.RequestID]), jsonOf(t, r))
	}
	got, err = store.Requests(t.Context(), "default", nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

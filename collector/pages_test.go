package collector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaygroundOffersTheUsersModelsFirst(t *testing.T) {
	got := playgroundUpstreams(map[string]string{"demo": "", "zeta": "", "default": "", "alpha": ""})
	require.Equal(t, []any{"default", "alpha", "zeta", "demo"}, got)
}

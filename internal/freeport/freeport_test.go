package freeport

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPick(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		port, err := Pick()
		require.NoError(t, err)
		require.False(t, seen[port], "given out twice")
		seen[port] = true
		require.Less(t, port, firstEphemeral(), "a connection could take it")
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

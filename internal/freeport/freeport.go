// Package freeport finds ports for programs that must be told their port before they listen on it.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

// span is how many ports below the ephemeral ones are chosen from.
const span = 12_000

// tries is how many of them are tried.
const tries = 100

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// ErrNone says that no free port was found.
var ErrNone = errors.New("no free port found")

// Pick returns a TCP port that nobody listens on at the loopback address, and that Pick has not returned before. It lies below
// the ports that the system gives to connections, so that none of them takes it before the program listens.
func Pick() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	first := firstEphemeral()
	var last error
	for range tries {
		port := first - 1 - rand.IntN(span) //nolint:gosec // chance, no secret
		if given[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // returns at once
		if err != nil {
			last = err
			continue
		}
		given[port] = true
		return port, l.Close()
	}
	return 0, fmt.Errorf("%w: %w", ErrNone, last)
}

// firstEphemeral is the lowest port that the system gives to connections; Linux's default where that is not told or leaves
// no room below.
func firstEphemeral() int {
	const usual, lowest = 32768, 1024 + span
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	var first, end int
	if _, err := fmt.Sscan(string(b), &first, &end); err != nil || first <= lowest {
		return usual
	}
	return first
}

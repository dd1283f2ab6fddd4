package rumreceiver

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClientAddress(t *testing.T) {
	p := newProxies([]string{"127.0.0.1", "10.0.0.0/8", "fd00::/8"})
	f := func(peer, forwarded, want string) {
		t.Helper()
		r := &http.Request{RemoteAddr: peer, Header: http.Header{}}
		if forwarded != "" {
			r.Header["X-Forwarded-For"] = strings.Split(forwarded, "|")
		}
		got := ""
		if ip := p.client(r); ip.IsValid() {
			got = ip.String()
		}
		require.Equal(t, want, got)
	}
	f("203.0.113.9:5", "", "203.0.113.9")
	f("203.0.113.9:5", "198.51.100.1", "203.0.113.9") // nobody's proxy: what it says is not believed
	f("[2001:db8::7]:5", "198.51.100.1", "2001:db8::7")
	f("127.0.0.1:5", "198.51.100.1", "198.51.100.1")
	f("[::ffff:127.0.0.1]:5", "198.51.100.1", "198.51.100.1")
	f("127.0.0.1:5", "1.1.1.1, 198.51.100.1, 10.1.2.3", "198.51.100.1") // 1.1.1.1 is what the client wrote itself
	f("127.0.0.1:5", "1.1.1.1|198.51.100.1,10.1.2.3", "198.51.100.1")
	f("127.0.0.1:5", "198.51.100.1:4711, [fd00::1]:80", "198.51.100.1")
	f("127.0.0.1:5", "10.1.1.1, 10.1.2.3", "10.1.1.1")
	f("127.0.0.1:5", "unknown, 10.1.2.3", "10.1.2.3")
	f("127.0.0.1:5", "198.51.100.1,", "127.0.0.1")
	f("127.0.0.1:5", strings.Repeat("10.0.0.1,", 1000)+"10.0.0.2", "10.0.0.1")
	f("127.0.0.1:5", "", "127.0.0.1")
	f("@", "198.51.100.1", "")
}

func TestAddressesAreBounded(t *testing.T) {
	a, err := newAddresses(Rate{PerSecond: 1, Burst: 2}, 3)
	require.NoError(t, err)
	now := time.Unix(1_790_000_000, 0)
	ip := netip.MustParseAddr
	take := func(s string) bool { _, ok := a.take(ip(s), now); return ok }
	require.True(t, take("192.0.2.1"))
	require.True(t, take("192.0.2.1"))
	require.False(t, take("192.0.2.1"))
	require.True(t, take("192.0.2.2"), "others are not affected")
	wait, ok := a.take(ip("192.0.2.1"), now)
	require.False(t, ok)
	require.Equal(t, time.Second, wait)

	require.True(t, take("2001:db8::1"))
	require.True(t, take("2001:db8::ffff:1"))
	require.False(t, take("2001:db8::2"), "a subscriber has a /64")
	require.True(t, take("2001:db8:0:1::2"))
	require.Equal(t, 3, a.lru.Len())

	now = now.Add(time.Second)
	require.True(t, take("192.0.2.1"))

	slow, err := newAddresses(Rate{PerSecond: 0.01, Burst: 1}, 3)
	require.NoError(t, err)
	_, ok = slow.take(ip("192.0.2.1"), now)
	require.True(t, ok)
	wait, ok = slow.take(ip("192.0.2.1"), now)
	require.False(t, ok)
	require.InDelta(t, 100, wait.Seconds(), 0.1)

	none, err := newAddresses(Rate{}, 3)
	require.NoError(t, err)
	_, ok = none.take(ip("192.0.2.1"), now)
	require.True(t, ok)
}

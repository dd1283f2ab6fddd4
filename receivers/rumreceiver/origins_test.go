package rumreceiver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestOrigins(t *testing.T) {
	f := func(entry, allowed, refused string) {
		t.Helper()
		o := newOrigins([]string{entry})
		for _, s := range strings.Fields(allowed) {
			require.True(t, o.allows(s), "%s should allow %s", entry, s)
		}
		for _, s := range append(strings.Fields(refused), "", "null ") {
			require.False(t, o.allows(s), "%s should refuse %s", entry, s)
		}
	}
	f("https://shop.example", "https://shop.example",
		"http://shop.example https://shop.example:8443 https://www.shop.example https://shop.example.evil.example https://evilshop.example null https://shop.example/ HTTPS://shop.example")
	f("HTTPS://Shop.Example:443", "https://shop.example", "https://shop.example:443")
	f("http://localhost:3000", "http://localhost:3000", "http://localhost http://localhost:3001")
	f("http://[::1]:3000", "http://[::1]:3000", "http://[::1]")
	f("https://*.shop.example", "https://www.shop.example https://a.b.shop.example",
		"https://shop.example https://.shop.example http://www.shop.example https://www.shop.example:8443 https://evil.example/.shop.example https://evil.example?.shop.example https://evil@www.shop.example https://evilshop.example")
	f("https://*.shop.example:8443", "https://www.shop.example:8443", "https://www.shop.example")
	f("null", "null", "https://shop.example")
	f("chrome-extension://abcdef", "chrome-extension://abcdef", "chrome-extension://abcdefg")
	require.True(t, newOrigins(nil).allows(""), "no list: all")
	require.True(t, newOrigins([]string{"https://a.example", "*"}).allows("https://b.example"))

	for _, bad := range []string{
		"", "shop.example", "https://", "https://shop.example/", "https://shop.example/x", "https://u@shop.example", "https://*", "https://*.", "https://a.*.example",
		"https://*shop.example", "*.shop.example", "https://shop.example?x", "https://bücher.example", "https://shop.example:port", "://x", "https:// x",
	} {
		_, err := parseOrigin(bad)
		require.ErrorIs(t, err, errOrigin, bad)
	}
}

// TestWildcardStaysBelowItsDomain: whatever a forger writes, what a wildcard takes ends in the domain and has no other part
// that could name a host.
func TestWildcardStaysBelowItsDomain(t *testing.T) {
	o := newOrigins([]string{"https://*.shop.example"})
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab.@/:?#[]-_%é \\*"))).Draw(t, "sub")
		if origin := "https://" + s + ".shop.example"; o.allows(origin) {
			require.NotContains(t, s, "/")
			require.NotContains(t, s, "@")
			require.NotContains(t, s, ":")
			require.NotEmpty(t, s)
		}
	})
}

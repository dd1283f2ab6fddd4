package rumreceiver

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds the proxies that are looked at.
const maxHops = 16

// proxies are the networks whose X-Forwarded-For is believed.
type proxies []netip.Prefix

func newProxies(list []string) proxies {
	var out proxies
	for _, s := range list {
		if p, err := parseNetwork(s); err == nil { // Validate has looked
			out = append(out, p)
		}
	}
	return out
}

func (p proxies) trust(ip netip.Addr) bool {
	for _, n := range p {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// client returns the address a request came from: the peer's, or where that is a trusted proxy, the last address in
// X-Forwarded-For that no trusted proxy has. Everything to the left of it is what the client itself may have written.
func (p proxies) client(r *http.Request) netip.Addr {
	ip := parseHop(r.RemoteAddr)
	if !p.trust(ip) {
		return ip
	}
	lines := r.Header["X-Forwarded-For"]
	hops := 0
	for i := len(lines) - 1; i >= 0; i-- {
		for rest := lines[i]; rest != "" && hops < maxHops; hops++ {
			hop := rest
			if n := strings.LastIndexByte(rest, ','); n >= 0 {
				rest, hop = rest[:n], rest[n+1:]
			} else {
				rest = ""
			}
			next := parseHop(strings.TrimSpace(hop))
			if !next.IsValid() {
				return ip
			}
			if ip = next; !p.trust(ip) {
				return ip
			}
		}
	}
	return ip
}

// parseHop reads an address with or without a port.
func parseHop(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap()
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

package rumreceiver

import (
	"errors"
	"net/url"
	"strings"
)

// An origin is an entry of an allow-list: exact, or with wild every host below it.
type origin struct {
	exact  string // scheme://host[:port], lower case, without the scheme's own port
	scheme string // with wild: "https://"
	suffix string // with wild: ".shop.example[:port]"
	wild   bool
	all    bool
}

var errOrigin = errors.New(`want scheme and host without a path, for instance https://shop.example, https://*.shop.example or http://localhost:3000; "null" for pages without an origin; * for all`)

// parseOrigin reads an entry of an allow-list.
func parseOrigin(s string) (origin, error) {
	switch s {
	case "*":
		return origin{all: true}, nil
	case "null":
		return origin{exact: s}, nil
	}
	scheme, host, ok := strings.Cut(strings.ToLower(s), "://")
	if !ok || scheme == "" || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" {
		return origin{}, errOrigin
	}
	rest, wild := strings.CutPrefix(host, "*.")
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Host != rest || u.Hostname() == "" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" {
		return origin{}, errOrigin
	}
	rest = strings.TrimSuffix(rest, defaultPort(scheme))
	if wild {
		return origin{wild: true, scheme: scheme + "://", suffix: "." + rest}, nil
	}
	return origin{exact: scheme + "://" + rest}, nil
}

// defaultPort is what browsers leave out of an origin.
func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return ":80"
	case "https":
		return ":443"
	}
	return "\x00" // no host ends so
}

// origins is an allow-list; an empty one allows all.
type origins struct {
	exact map[string]bool
	wild  []origin
	all   bool
}

// newOrigins makes an allow-list of entries that Validate has taken.
func newOrigins(list []string) *origins {
	o := &origins{exact: map[string]bool{}, all: len(list) == 0}
	for _, s := range list {
		switch e, err := parseOrigin(s); {
		case err != nil:
		case e.all:
			o.all = true
		case e.wild:
			o.wild = append(o.wild, e)
		default:
			o.exact[e.exact] = true
		}
	}
	return o
}

// add joins what another list allows.
func (o *origins) add(other *origins) {
	o.all = o.all || other.all
	o.wild = append(o.wild, other.wild...)
	for s := range other.exact {
		o.exact[s] = true
	}
}

// allows reports whether a page of that origin, as its browser wrote it into the Origin header, may send.
func (o *origins) allows(s string) bool {
	if o.all || o.exact[s] {
		return true
	}
	for _, e := range o.wild {
		host, ok := strings.CutPrefix(s, e.scheme)
		if !ok {
			continue
		}
		sub, ok := strings.CutSuffix(host, e.suffix)
		if ok && sub != "" && sub[0] != '.' && strings.Trim(sub, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == "" {
			return true
		}
	}
	return false
}

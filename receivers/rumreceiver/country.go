package rumreceiver

import (
	"fmt"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// countries looks up where an address is; nil knows nothing.
type countries struct{ db *maxminddb.Reader }

// openCountries opens a MaxMind DB with country.iso_code, as GeoLite2-Country, GeoIP2 and DB-IP have it.
func openCountries(file string) (*countries, error) {
	if file == "" {
		return nil, nil
	}
	db, err := maxminddb.Open(file)
	if err != nil {
		return nil, fmt.Errorf("geoip_file: %w", err)
	}
	return &countries{db: db}, nil
}

// of returns the ISO 3166 code of the country, or "".
func (c *countries) of(ip netip.Addr) string {
	if c == nil || !ip.IsValid() {
		return ""
	}
	var code string
	if c.db.Lookup(ip).DecodePath(&code, "country", "iso_code") != nil || len(code) != 2 {
		return ""
	}
	return code
}

func (c *countries) close() error {
	if c == nil {
		return nil
	}
	return c.db.Close()
}

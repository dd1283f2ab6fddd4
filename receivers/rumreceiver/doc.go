// Package rumreceiver takes what browsers saw of their streams: what was received, put into the DOM and
// painted, on the page's own clock. Beacons come to POST /v1/rum as navigator.sendBeacon sends them, which is
// text/plain without a preflight, and to POST /collect as the Grafana Faro web SDK sends them.
//
// A request passes the guard (access.go: address rate, key, origin, bot, key rate; CORS), internal/ingest's
// handler (size, encoding, media type, status) and a decoder (decode.go: wire format or Faro, duplicates,
// country, user agent).
package rumreceiver

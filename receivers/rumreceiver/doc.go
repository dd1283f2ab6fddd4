// Package rumreceiver takes what browsers saw of their streams: what was received, put into the DOM and
// painted, on the page's own clock. Beacons come to POST /v1/rum as navigator.sendBeacon sends them, which is
// text/plain without a preflight.
package rumreceiver

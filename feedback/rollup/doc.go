// Package rollup keeps the rollups of package storage/rollups up to date: an extension that computes anew, every few
// seconds, the minutes whose streams got new records.
package rollup

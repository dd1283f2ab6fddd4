// Package ingest is what the HTTP endpoints of Fermata's receivers share: how a request is admitted, how
// its body is read within bounds, how each item of a batch is answered, and how the outcome of the
// pipeline becomes a status.
package ingest

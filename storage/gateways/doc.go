// Package gateways is the table of requests as gateways handled them: one row for each record as it was
// delivered. Its rules of identity, re-delivery and version are those of package streams.
package gateways

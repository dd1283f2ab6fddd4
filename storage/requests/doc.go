// Package requests reads joined requests: the records of all tiers with one request id, brought together in
// one place (Assemble) whatever the order, number and lateness of their deliveries.
//
// A look-up by id is three key look-ups and one pure function; windows of many requests are read through the
// SQL view joined_requests, whose scalars equal Assemble's.
package requests

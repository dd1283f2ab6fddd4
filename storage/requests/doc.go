// Package requests reads joined requests: the records of all tiers with one request id, brought together in
// one place (Assemble) whatever the order, number and lateness of their deliveries.
//
// A look-up by id is three key look-ups and one pure function. Windows and lists of many requests read the table requests
// (SQL view joined_requests), whose rows are Assemble's scalars as the joiner wrote them.
package requests

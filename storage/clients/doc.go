// Package clients is the table of streams as pages received, rendered and painted them: one row for each
// stream or stream segment as it was delivered. Its rules of identity, re-delivery and version are those of
// package streams; the receiver's own arrival time is no part of the content.
package clients

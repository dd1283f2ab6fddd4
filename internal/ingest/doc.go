// Package ingest is what the HTTP endpoints of Fermata's receivers share: how a request is admitted, how
// its body is read within bounds, how each item of a batch is answered, and how the outcome of the
// pipeline becomes a status.
//
// # Statuses
//
// Every answer has the form of [Answer].
//
//	200  every item was taken by the pipeline (with a persistent queue: is on disk)
//	400  some items are wrong, or all; the others were taken. Or: the body is cut, is not what
//	     Content-Encoding says, or the pipeline refused the records for good (accepted is 0)
//	401  authentication failed, where the server has it
//	404  no such path; the answer lists those that there are
//	405  not POST; with Allow
//	408  the body did not arrive within read_timeout
//	413  the body is too large, as received or decompressed
//	415  media type, charset or content encoding is not supported; with Accept-Encoding
//	429  the endpoint's own limits are reached, or the pipeline asks to slow down; with Retry-After
//	503  the pipeline can't take records now, or is starting or stopping; with Retry-After. Nothing was
//	     taken, also where some items are listed as wrong
package ingest

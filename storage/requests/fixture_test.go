package requests_test

import (
	"github.com/fermata-io/fermata/storage/requests/requeststest"
)

const (
	ms  = int64(1000)
	sec = 1000 * ms
	// noon is when the requests of tests start.
	noon = requeststest.Noon
)

var (
	story       = requeststest.Story
	wholeStream = requeststest.Whole
	segments    = requeststest.Segments
	delivered   = requeststest.Delivered
)

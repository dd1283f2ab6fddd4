package wire

import (
	"slices"
	"strings"
)

// StatusClientGone is what proxies log when the client closed the connection before the answer's end.
const StatusClientGone = 499

// userAborts are the finish reasons and error classes, in lower case, by which emitters say that whoever asked went away.
var userAborts = []string{
	"abort", "aborted", "aborterror", "cancelled", "canceled", "client_abort", "client_disconnect", "user_abort",
}

// UserAbort reports whether a finish reason or an error class means that whoever asked went away; its case doesn't matter.
func UserAbort(class string) bool { return slices.Contains(userAborts, strings.ToLower(class)) }

// UserAborts lists, in lower case, what UserAbort knows, for queries.
func UserAborts() []string { return slices.Clone(userAborts) }

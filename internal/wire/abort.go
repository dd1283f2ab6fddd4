package wire

import (
	"slices"
	"strings"
)

// StatusClientGone is what proxies log when the client closed the connection before the answer's end.
const StatusClientGone = 499

// userAborts are the finish reasons and error classes, in lower case, by which emitters say that whoever asked went away.
var userAborts = []string{
	"abort", "aborted", "aborterror", "cancelled", "canceled", "client_abort", "client_disconnect", "client_disconnected", "client_closed",
	"disconnect", "disconnected", "user_abort",
}

// UserAbort reports whether a finish reason or an error class means that whoever asked went away; its case doesn't matter.
func UserAbort(class string) bool { return slices.Contains(userAborts, strings.ToLower(class)) }

// UserAborts lists, in lower case, what UserAbort knows, for queries.
func UserAborts() []string { return slices.Clone(userAborts) }

// plain is a finish reason in lower case, without what SDKs put in front of their enumerations' names.
func plain(reason string) string {
	reason = strings.ToLower(reason)
	for _, p := range []string{"finish_reason_", "finishreason."} {
		reason = strings.TrimPrefix(reason, p)
	}
	return reason
}

// AtLimit reports whether a finish reason means that the answer was cut at a limit of its length, as OpenAI, Anthropic,
// Gemini, Cohere, Mistral, TGI, Bedrock and engines say it.
func AtLimit(reason string) bool {
	switch plain(reason) {
	case "length", "max_tokens", "max_output_tokens", "max_new_tokens", "max_completion_tokens", "max_length", "model_length", "token_limit",
		"context_length", "context_length_exceeded", "model_context_window_exceeded", "incomplete", "limit":
		return true
	}
	return false
}

// FailedReason reports whether a finish reason says that the stream broke, which is no end of an answer.
func FailedReason(reason string) bool {
	switch plain(reason) {
	case "error", "failed", "failure", "timeout", "connection_error", "connection_reset", "server_error", "internal_error":
		return true
	}
	return false
}

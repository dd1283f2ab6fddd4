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

// prefixes are what SDKs put in front of their enumerations' names, in lower case.
var prefixes = []string{"finish_reason_", "finishreason."}

// plain is a finish reason in lower case, without a prefix.
func plain(reason string) string {
	reason = strings.ToLower(reason)
	for _, p := range prefixes {
		if s, ok := strings.CutPrefix(reason, p); ok {
			return s
		}
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

// LoopStopped reports whether a finish or stop reason means that the engine itself stopped an answer that repeated itself; its case
// doesn't matter.
func LoopStopped(reason string) bool {
	switch plain(reason) {
	case "repetition", "repetition_detected", "repetition_stop", "loop_detected":
		return true
	}
	return false
}

// failedReasons are the finish reasons, in lower case and without a prefix, that say that the stream broke.
var failedReasons = []string{"error", "failed", "failure", "timeout", "connection_error", "connection_reset", "server_error", "internal_error"}

// FailedReason reports whether a finish reason says that the stream broke, which is no end of an answer; its case doesn't matter.
func FailedReason(reason string) bool { return slices.Contains(failedReasons, plain(reason)) }

// FailedReasons lists, in lower case and with every prefix, what FailedReason knows, for queries.
func FailedReasons() []string {
	out := slices.Clone(failedReasons)
	for _, p := range prefixes {
		for _, r := range failedReasons {
			out = append(out, p+r)
		}
	}
	return out
}

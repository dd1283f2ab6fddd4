package simulate

// Truth is one thing that really went wrong. Its fields have the meaning of a finding's.
type Truth struct {
	RequestID  string `json:"request_id"` // empty: of a target
	Kind       string `json:"kind"`
	Grade      string `json:"grade,omitempty"`
	Tier       string `json:"tier"`
	Attempt    uint32 `json:"attempt,omitempty"`
	Channel    string `json:"channel,omitempty"`
	Chunk      int64  `json:"chunk"` // content-bearing chunk, from 0; -1: of none
	StartUS    int64  `json:"start_us"`
	DurationUS int64  `json:"duration_us"`
	// Attribution is the part of the way that was made to fail; empty: not judged.
	Attribution string `json:"attribution,omitempty"`
	Cause       string `json:"cause"` // the fault, or natural
	// Of a loop.
	StartChar   int    `json:"start_char,omitempty"`
	PeriodChars int    `json:"period_chars,omitempty"` // 0: copies differ in length
	Copies      int    `json:"copies,omitempty"`
	Match       string `json:"match,omitempty"`
	// EngineEvent names the engine-wide silence that a stall is part of.
	EngineEvent string `json:"engine_event,omitempty"`
	// Deployment and Version are set where the truth is of a target.
	Deployment string `json:"deployment,omitempty"`
	Version    string `json:"version,omitempty"`
	At         int64  `json:"at"` // true instant it began, µs since the Unix epoch
	// slackChunks is how far the place may be off.
	SlackChunks int64 `json:"slack_chunks,omitempty"`
}

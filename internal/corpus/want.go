package corpus

import "encoding/json"

// CaseLabel is the right answer of a case of processors/testdata/cases_more.jsonl. It was written down from the definitions of
// what a finding is, before anything was asked.
type CaseLabel struct {
	Seen   string `json:"seen"`   // what public reports of this kind tell
	Answer string `json:"answer"` // in words
	// Want has the findings of each request; a request that is not named has none.
	Want map[string][]CaseFinding `json:"want"`
	// May are kinds that are neither asked for nor wrong.
	May []string `json:"may"`
	// Any are kinds of which each list's one must be found, where the definitions leave open which.
	Any   [][]string           `json:"any"`
	Check map[string]CaseCheck `json:"check"`
	// Shift has the two versions of a texture shift; empty: there is none.
	Shift *[]string `json:"shift"`
	Event []string  `json:"event"` // requests whose stalls are one event
	Twice bool      `json:"twice"` // every record is delivered twice
}

// CaseFinding is one finding; what is absent is not looked at.
type CaseFinding struct {
	Kind      string                     `json:"kind"`
	Grade     string                     `json:"grade"`
	Tier      string                     `json:"tier"`
	Channel   string                     `json:"channel"`
	Cause     string                     `json:"cause"`
	Attempt   uint32                     `json:"attempt"`
	Chunk     *int64                     `json:"chunk"`
	ChunkTol  int64                      `json:"chunk_tol"`
	DurMS     float64                    `json:"dur_ms"`
	TolMS     float64                    `json:"tol_ms"`
	Open      bool                       `json:"open"`
	Evidences map[string]json.RawMessage `json:"ev"` // numbers within 1 %
}

// CaseCheck is what GET /v1/requests/{id} must tell; what is absent is not looked at, null is "not known".
type CaseCheck map[string]json.RawMessage

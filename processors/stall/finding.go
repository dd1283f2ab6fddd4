package stall

import "github.com/fermata-io/fermata/internal/wire"

// Grades of a stall.
const (
	GradeHitch  = "hitch"
	GradeStall  = "stall"
	GradeFreeze = "freeze"
)

// Severities of a finding.
const (
	SeverityInfo     = "info"
	SeverityWarning  = "warning"
	SeverityCritical = "critical"
)

// Finding is one pause, slow episode or end without a terminal event. Times are µs offsets on the stream's
// own clock. Kind and Chunk name it for good: later states replace earlier ones.
type Finding struct {
	Kind  wire.FindingKind // stall, slow_episode, dead_stream
	Grade string           // of a stall, by its longest gap: hitch, stall, freeze
	// Chunk is the content-bearing chunk, from 0, that ended the first gap, or will end it.
	Chunk      int64
	StartUS    int64 // the chunk before the first gap
	DurationUS int64 // until the last gap's end; of an open finding until now
	Open       bool
	Severity   string
	Confidence float64
	Evidence   Evidence
}

// Evidence holds the numbers a finding rests on.
type Evidence struct {
	Gaps       int64 `json:"gaps"`        // gaps of the episode: floors crossed, or all gaps of a slow episode
	FirstChunk int64 `json:"first_chunk"` // the chunk that ended the first gap
	LastChunk  int64 `json:"last_chunk"`  // the chunk that ended the last gap
	LongestUS  int64 `json:"longest_us"`  // longest gap without hidden time
	BaselineUS int64 `json:"baseline_us"` // median pace of the stream, µs per token; per chunk when tokens aren't known
	PaceUS     int64 `json:"pace_us"`     // pace within the finding: mean gap, per token where known
	// EveryChunks is set on a stall that came as regularly as at least two before it.
	EveryChunks int64 `json:"every_chunks,omitempty"`
	Keepalives  int64 `json:"keepalives,omitempty"` // signs of life during the pause
	HiddenUS    int64 `json:"hidden_us,omitempty"`  // hidden time left out
	// CutShort says that the user gave up while the finding was open.
	CutShort bool `json:"cut_short,omitempty"`
}

// Op says what happened to a finding.
type Op uint8

// Ops. A raised finding is either updated until it is closed (Open false) or withdrawn.
const (
	Raise Op = iota
	Update
	Withdraw
)

// Event is a change of one finding.
type Event struct {
	Op      Op
	Finding Finding
}

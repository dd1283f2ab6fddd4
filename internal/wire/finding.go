package wire

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/zeebo/xxh3"
)

// FindingKind says what went wrong.
type FindingKind string

// Kinds of finding.
const (
	FindingStall         FindingKind = "stall"
	FindingSlowEpisode   FindingKind = "slow_episode"
	FindingSlowStart     FindingKind = "slow_start"
	FindingDeadStream    FindingKind = "dead_stream"
	FindingLoop          FindingKind = "loop"
	FindingIdleDrop      FindingKind = "idle_drop"
	FindingBuffering     FindingKind = "buffering"
	FindingRenderLag     FindingKind = "render_lag"
	FindingPerceivedGap  FindingKind = "perceived_gap"
	FindingCancelWaste   FindingKind = "cancel_waste"
	FindingRetraction    FindingKind = "retraction"
	FindingClockConflict FindingKind = "clock_conflict"
	FindingIDConflict    FindingKind = "id_conflict"
	FindingSemanticGap   FindingKind = "semantic_gap"
	FindingTextureShift  FindingKind = "texture_shift"
)

// FindingKinds are all kinds of finding.
var FindingKinds = [...]FindingKind{
	FindingStall, FindingSlowEpisode, FindingSlowStart, FindingDeadStream, FindingLoop, FindingIdleDrop, FindingBuffering,
	FindingRenderLag, FindingPerceivedGap, FindingCancelWaste, FindingRetraction, FindingClockConflict, FindingIDConflict,
	FindingSemanticGap, FindingTextureShift,
}

// Finding is one thing that went wrong in a request. Its ID is the same each time it is found, so that a
// finding that grows, closes or is found again replaces itself.
type Finding struct {
	ID          string
	Kind        FindingKind
	Grade       string // of a stall: hitch, stall, freeze
	Tenant      string
	RequestID   string
	Tier        Tier
	Attempt     uint32
	Emitter     string
	StartedAt   int64      // of the stream it was found in; instant
	Channel     string     // content, reasoning, tool
	Chunk       Opt[int64] // counts content-bearing chunks from 0
	StartUS     int64      // offset on the stream's own clock
	DurationUS  int64
	Open        bool            // still going on
	Severity    string          // info, warning, critical
	Attribution string          // engine, gateway, proxy_buffering, network, render, hidden, unknown
	Confidence  float64         // 0 to 1
	Evidence    json.RawMessage // an object of numbers and names, never text of a user
	// Withdrawn says that later data explained the finding away; it is kept so that it replaces what was raised.
	Withdrawn bool
	// Revision orders the states of one finding: the larger one holds. It grows with what is known of the stream,
	// not with a clock, so that finding the same again changes nothing.
	Revision int64
	Target
	QueryType string
}

// FindingID derives the identity of a finding from what it is about.
func FindingID(kind FindingKind, tenant, requestID string, tier Tier, attempt uint32, emitter string, startedAt int64, channel string, chunk int64) string {
	var b []byte
	for _, s := range [...]string{string(kind), tenant, requestID, string(tier), emitter, channel} {
		b = append(append(b, s...), 0)
	}
	b = strconv.AppendUint(b, uint64(attempt), 10)
	b = append(b, 0)
	b = strconv.AppendInt(b, startedAt, 10)
	b = append(b, 0)
	b = strconv.AppendInt(b, chunk, 10)
	h := xxh3.Hash128(b).Bytes()
	return hex.EncodeToString(h[:])
}

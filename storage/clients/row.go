package clients

import "github.com/fermata-io/fermata/storage/table"

// Table is the clients table.
var Table = table.Of[Row]("clients")

// Row is one row of the clients table; its tags are the only list of the table's columns. Meanings are those
// of wire.Client. Times named …_us count from the submit event, or from the page's time origin where the
// submit event is not known; SubmitUS itself counts from the time origin. RequestID is the response id where the
// page knows only that.
type Row struct {
	Tenant     string            `ch:"tenant" type:"LowCardinality(String)" rank:"-"`
	RequestID  string            `ch:"request_id" rank:"-"`
	SessionID  string            `ch:"session_id" rank:"-"`
	HasSubmit  bool              `ch:"has_submit" rank:"-"`
	SubmitUS   uint64            `ch:"submit_us" rank:"-"`
	Seq        uint32            `ch:"seq" rank:"-"`
	BeaconSeq  uint32            `ch:"beacon_seq"`
	Final      bool              `ch:"final"`
	Attempt    table.Opt[uint32] `ch:"attempt"`
	ReceivedAt table.Micros      `ch:"received_at" rank:"-"`
	Version    uint64            `ch:"version" rank:"-"`

	Page        string `ch:"page" type:"LowCardinality(String)"`
	App         string `ch:"app" type:"LowCardinality(String)"`
	Release     string `ch:"release" type:"LowCardinality(String)"`
	Browser     string `ch:"browser" type:"LowCardinality(String)"`
	OS          string `ch:"os" type:"LowCardinality(String)"`
	Device      string `ch:"device" type:"LowCardinality(String)"`
	Country     string `ch:"country" type:"LowCardinality(String)"`
	QueryType   string `ch:"query_type" type:"LowCardinality(String)"`
	ContentKind string `ch:"content_kind" type:"LowCardinality(String)"`
	Protocol    string `ch:"protocol" type:"LowCardinality(String)"`
	PaintSource string `ch:"paint_source" type:"LowCardinality(String)"`

	ConnRTTMS        table.Opt[uint32] `ch:"conn_rtt_ms"`
	ConnType         string            `ch:"conn_type" type:"LowCardinality(String)"`
	ConnDownlinkKbit table.Opt[uint32] `ch:"conn_downlink_kbit"`

	TimeOrigin uint64            `ch:"time_origin"`  // µs since the Unix epoch on the page's wall clock; 0: not known
	ClockNowUS table.Opt[uint64] `ch:"clock_now_us"` // from the time origin
	WallNow    uint64            `ch:"wall_now"`     // µs since the Unix epoch; 0: not known

	FirstFeedbackUS table.Opt[int64] `ch:"first_feedback_us"`
	RequestSentUS   table.Opt[int64] `ch:"request_sent_us"`
	HeadersUS       table.Opt[int64] `ch:"headers_us"`
	FirstPaintUS    table.Opt[int64] `ch:"first_paint_us"` // first meaningful paint: the perceived TTFT when HasSubmit
	AbortedUS       table.Opt[int64] `ch:"aborted_us"`
	DoneUS          table.Opt[int64] `ch:"done_us"`
	ClosedUS        table.Opt[int64] `ch:"closed_us"`
	ErrorType       string           `ch:"error_type" type:"LowCardinality(String)"`
	FinishReason    string           `ch:"finish_reason" type:"LowCardinality(String)"`

	RecvFirstUS  int64    `ch:"recv_first_us"`
	RecvGapsUS   []uint32 `ch:"recv_gaps_us"`
	RecvBytes    []uint32 `ch:"recv_bytes"`
	RecvKindRuns []uint32 `ch:"recv_kind_runs"`
	DOMFirstUS   int64    `ch:"dom_first_us"`
	DOMGapsUS    []uint32 `ch:"dom_gaps_us"`
	DOMBytes     []uint32 `ch:"dom_bytes"`
	PaintFirstUS int64    `ch:"paint_first_us"`
	PaintGapsUS  []uint32 `ch:"paint_gaps_us"`
	PaintBytes   []uint32 `ch:"paint_bytes"`

	VisibilityUS     []uint64 `ch:"visibility.t_us"` // this and the next lists count from the time origin
	VisibilityHidden []bool   `ch:"visibility.hidden"`
	LongFramesUS     []uint64 `ch:"long_frames.t_us"`
	LongFramesDurUS  []uint64 `ch:"long_frames.dur_us"`
	RetractionsUS    []uint64 `ch:"retractions.t_us"`
	RetractionsBytes []uint32 `ch:"retractions.bytes"`

	Reconnects  table.Opt[uint32] `ch:"reconnects"`
	LostBeacons table.Opt[uint32] `ch:"lost_beacons"`
	BytesTotal  table.Opt[uint32] `ch:"bytes_total"`

	Scalars

	ResponseID string   `ch:"response_id"`
	TraceID    string   `ch:"trace_id"`
	Aliases    []string `ch:"aliases"`
}

// Scalars are computed from the chunk arrays of one row.
type Scalars struct {
	NRecv         uint32           `ch:"n_recv" rank:"-"`  // chunks received
	NDOM          uint32           `ch:"n_dom" rank:"-"`   // DOM insertions
	NPaint        uint32           `ch:"n_paint" rank:"-"` // paints of new text
	TTFTUS        table.Opt[int64] `ch:"ttft_us" rank:"-"` // first content-bearing chunk received
	TTFAUS        table.Opt[int64] `ch:"ttfa_us" rank:"-"` // first non-empty chunk of kind content received
	LastUS        table.Opt[int64] `ch:"last_us" rank:"-"` // last content-bearing chunk received
	RecvMaxGapUS  uint32           `ch:"recv_max_gap_us" rank:"-"`
	PaintMaxGapUS uint32           `ch:"paint_max_gap_us" rank:"-"`
}

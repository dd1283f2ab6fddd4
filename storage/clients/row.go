package clients

import "github.com/fermata-io/fermata/storage/table"

// Table is the clients table.
var Table = table.Of[Row]("clients")

// Row is one row of the clients table; its tags are the only list of the table's columns and of what is packed into
// them. Meanings are those
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
	BeaconSeq  uint32            `ch:"beacon_seq,number"`
	Final      bool              // no column: Version holds it
	Attempt    table.Opt[uint32] `ch:"attempt,label"`
	ReceivedAt table.Micros      `ch:"received_at" rank:"-"`
	Version    uint64            `ch:"version" rank:"-"`

	Page        string `ch:"page" type:"LowCardinality(String)"`
	App         string `ch:"app,label"`
	Release     string `ch:"release,label"`
	Browser     string `ch:"browser" type:"LowCardinality(String)"`
	OS          string `ch:"os,label"`
	Device      string `ch:"device,label"`
	Country     string `ch:"country" type:"LowCardinality(String)"`
	QueryType   string `ch:"query_type,label"`
	ContentKind string `ch:"content_kind,label"`
	Protocol    string `ch:"protocol,label"`
	PaintSource string `ch:"paint_source,label"`

	ConnRTTMS        table.Opt[uint32] `ch:"conn_rtt_ms,number"`
	ConnType         string            `ch:"conn_type,label"`
	ConnDownlinkKbit table.Opt[uint32] `ch:"conn_downlink_kbit,number"`

	TimeOrigin uint64            `ch:"time_origin"`         // µs since the Unix epoch on the page's wall clock; 0: not known
	ClockNowUS table.Opt[uint64] `ch:"clock_now_us,number"` // from the time origin
	WallNow    uint64            `ch:"wall_now,detail"`     // µs since the Unix epoch; 0: not known

	FirstFeedbackUS table.Opt[int64] `ch:"first_feedback_us,number"`
	RequestSentUS   table.Opt[int64] `ch:"request_sent_us,number"`
	HeadersUS       table.Opt[int64] `ch:"headers_us,number"`
	RecvFirstUS     int64            `ch:"recv_first_us,number"`

	Scalars

	DOMFirstUS   int64            `ch:"dom_first_us,number"`
	PaintFirstUS int64            `ch:"paint_first_us,number"`
	FirstPaintUS table.Opt[int64] `ch:"first_paint_us,number"` // first meaningful paint: the perceived TTFT when HasSubmit
	AbortedUS    table.Opt[int64] `ch:"aborted_us,number"`
	DoneUS       table.Opt[int64] `ch:"done_us,number"`
	ClosedUS     table.Opt[int64] `ch:"closed_us,number"`
	ErrorType    string           `ch:"error_type,label"`
	FinishReason string           `ch:"finish_reason,label"`

	RecvGapsUS   []uint32 `ch:"recv_gaps_us"`
	RecvBytes    []uint32 `ch:"recv_bytes"`
	RecvKindRuns []uint32 `ch:"recv_kind_runs"`
	DOMGapsUS    []uint32 `ch:"dom_gaps_us"`
	DOMBytes     []uint32 `ch:"dom_bytes"`
	PaintGapsUS  []uint32 `ch:"paint_gaps_us"`
	PaintBytes   []uint32 `ch:"paint_bytes"`

	VisibilityUS     []uint64 `ch:"visibility.t_us,detail"` // this and the next lists count from the time origin
	VisibilityHidden []bool   `ch:"visibility.hidden,detail"`
	LongFramesUS     []uint64 `ch:"long_frames.t_us,detail"`
	LongFramesDurUS  []uint64 `ch:"long_frames.dur_us,detail"`
	RetractionsUS    []uint64 `ch:"retractions.t_us,detail"`
	RetractionsBytes []uint32 `ch:"retractions.bytes,detail"`

	Reconnects  table.Opt[uint32] `ch:"reconnects,number"`
	LostBeacons table.Opt[uint32] `ch:"lost_beacons,number"`
	BytesTotal  table.Opt[uint32] `ch:"bytes_total,number"`

	SampleWeightMilli table.Opt[uint32] `ch:"sample_weight_milli,number"`

	ResponseID string   `ch:"response_id,detail"`
	TraceID    string   `ch:"trace_id,detail"`
	Aliases    []string `ch:"aliases,detail"`
}

// Scalars are computed from the chunk arrays of one row.
type Scalars struct {
	TTFTUS        table.Opt[int64] `ch:"ttft_us,number" rank:"-"` // first content-bearing chunk received
	TTFAUS        table.Opt[int64] `ch:"ttfa_us,number" rank:"-"` // first non-empty chunk of kind content received
	NRecv         uint32           `ch:"n_recv,number" rank:"-"`  // chunks received
	NDOM          uint32           `ch:"n_dom,number" rank:"-"`   // DOM insertions
	NPaint        uint32           `ch:"n_paint,number" rank:"-"` // paints of new text
	RecvMaxGapUS  uint32           `ch:"recv_max_gap_us,number" rank:"-"`
	PaintMaxGapUS uint32           `ch:"paint_max_gap_us,number" rank:"-"`
}

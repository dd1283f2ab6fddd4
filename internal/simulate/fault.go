package simulate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fault is something that is made to go wrong, or made to look so.
type Fault string

// Faults of single requests.
const (
	FaultStall       Fault = "stall"        // the engine takes a stream out of its batch once, 0.2 to 9 s
	FaultTrain       Fault = "train"        // it does so several times in a row
	FaultSlow        Fault = "slow"         // a stream gets a fraction of its steps for a while
	FaultSlowStart   Fault = "slow_start"   // waits long for its first token
	FaultDead        Fault = "dead"         // the stream ends without a terminal event
	FaultLoop        Fault = "loop"         // the text turns into a loop
	FaultLoopStopped Fault = "loop_stopped" // the engine stops a loop itself
	FaultVerdict     Fault = "verdict"      // the engine stopped a loop, and no text is sent
	FaultRefrain     Fault = "refrain"      // text that repeats for a good reason; no finding
	FaultToolPause   Fault = "tool_pause"   // a tool runs within the answer; no finding
	FaultBufferSize  Fault = "buffer_size"  // a proxy passes the answer on in blocks of bytes
	FaultBufferTime  Fault = "buffer_time"  // … at intervals
	FaultBufferEnd   Fault = "buffer_end"   // … all at the end
	FaultNetwork     Fault = "network"      // the user's network stands still, 0.2 to 6 s
	FaultRender      Fault = "render"       // the page's thread is kept busy, 0.5 to 6 s
	FaultTyping      Fault = "typing"       // the page types text out slower than it comes
	FaultHidden      Fault = "hidden"       // the user looks at another tab for a while; no finding
	FaultAbort       Fault = "abort"        // the user leaves, the engine stops; no finding
	FaultWaste       Fault = "waste"        // the user leaves, the engine goes on
	FaultIdleDrop    Fault = "idle_drop"    // a hop closes a silent stream at its limit
	FaultBroken      Fault = "broken"       // the page's connection breaks, the engine goes on
	FaultRetraction  Fault = "retraction"   // the page takes shown text back
	FaultClock       Fault = "clock"        // the page's clock stood still while the machine slept
	FaultReusedID    Fault = "reused_id"    // two requests have one id
	FaultQueue       Fault = "queue"        // waits in the gateway's queue
	FaultRetry       Fault = "retry"        // a first attempt fails, another engine serves; no finding
	FaultHedge       Fault = "hedge"        // two engines are asked, the faster serves; no finding
	FaultLostBeacon  Fault = "lost_beacon"  // the page's last beacon is lost; no finding
	FaultEngineStall Fault = "engine_stall" // share of a minute with an engine-wide silence of 0.4 to 8 s
	FaultEngineSlow  Fault = "engine_slow"  // share of a minute with an engine-wide slow-down
	FaultBigPrefill  Fault = "big_prefill"  // share of prompts that are huge while an engine prefills in one piece
	FaultNewVersion  Fault = "new_version"  // share of engines whose second half runs a version of another texture
	FaultJitter      Fault = "jitter"       // share of streams with a jittery network; no finding by itself
)

// FaultNames lists the faults in the order in which they are documented, with what each does.
func FaultNames() [][2]string {
	return [][2]string{
		{"stall", "the engine takes a stream out of its batch, 0.2 to 9 s"},
		{"train", "… several times in a row"},
		{"slow", "a stream gets a fraction of its steps for a while"},
		{"slow_start", "a stream waits long for its first token"},
		{"dead", "a stream ends without a terminal event"},
		{"loop", "the text turns into a loop, until the limit or until the user leaves"},
		{"loop_stopped", "the engine stops a loop itself"},
		{"verdict", "the engine stops a loop, and no text is sent"},
		{"refrain", "text that repeats for a good reason (no finding)"},
		{"tool_pause", "a tool runs within the answer (no finding)"},
		{"buffer_size", "a proxy passes the answer on in blocks of bytes"},
		{"buffer_time", "… at intervals"},
		{"buffer_end", "… all at the end"},
		{"network", "the user's network stands still, 0.2 to 6 s"},
		{"render", "the page's thread is busy, 0.5 to 6 s"},
		{"typing", "the page types text out more slowly than it comes"},
		{"hidden", "the user looks at another tab for a while (no finding)"},
		{"abort", "the user leaves, the engine stops (no finding)"},
		{"waste", "the user leaves, the engine goes on"},
		{"idle_drop", "a hop closes a silent stream at its limit"},
		{"broken", "the page's connection breaks while the engine goes on"},
		{"retraction", "the page takes shown text back"},
		{"clock", "the page's clock stood still while the machine slept"},
		{"reused_id", "two requests have one id"},
		{"queue", "a request waits in the gateway's queue"},
		{"retry", "a first attempt fails, another engine serves (no finding)"},
		{"hedge", "two engines are asked, the faster one serves (no finding)"},
		{"lost_beacon", "the page's last beacon is lost (no finding)"},
		{"jitter", "a jittery network (no finding by itself)"},
		{"engine_stall", "share of an engine's minutes in which it is silent once, 0.4 to 8 s"},
		{"engine_slow", "share of an engine's minutes in which it is many times slower"},
		{"big_prefill", "share of prompts that are huge, on engines that prefill them in one piece"},
		{"new_version", "share of engines whose second half runs a version of another texture"},
	}
}

// ofRequest are the faults of which a request has at most one, in the order in which they are drawn.
func ofRequest() []Fault {
	var out []Fault
	for _, n := range FaultNames() {
		switch f := Fault(n[0]); f {
		case FaultEngineStall, FaultEngineSlow, FaultBigPrefill, FaultNewVersion:
		default:
			out = append(out, f)
		}
	}
	return out
}

// Shares say how often each fault is caused, 0 to 1.
type Shares map[Fault]float64

// scenarios are named shares.
var scenarios = map[string]Shares{
	"steady": {FaultToolPause: .05, FaultHidden: .08, FaultAbort: .05, FaultLostBeacon: .02, FaultRefrain: .05},
	"stalls": {FaultStall: .25, FaultTrain: .05, FaultSlow: .1, FaultToolPause: .05, FaultHidden: .03, FaultDead: .03, FaultEngineStall: .3},
	"loops":  {FaultLoop: .4, FaultLoopStopped: .05, FaultVerdict: .03, FaultRefrain: .2},
	"incident": {
		FaultEngineStall: .5, FaultEngineSlow: .3, FaultBigPrefill: .01, FaultSlowStart: .03, FaultRetry: .05, FaultHedge: .03, FaultQueue: .05,
		FaultWaste: .05, FaultAbort: .05,
	},
	"deploy": {FaultNewVersion: .5, FaultStall: .01, FaultToolPause: .05},
	"client": {
		FaultBufferSize: .06, FaultBufferTime: .06, FaultBufferEnd: .06, FaultNetwork: .08, FaultRender: .06, FaultTyping: .04, FaultHidden: .06,
		FaultAbort: .04, FaultWaste: .06, FaultIdleDrop: .03, FaultBroken: .03, FaultRetraction: .04, FaultClock: .03, FaultReusedID: .02, FaultQueue: .05,
		FaultRetry: .03, FaultHedge: .02, FaultLostBeacon: .03, FaultJitter: .05,
	},
	"mixed": {
		FaultStall: .06, FaultTrain: .01, FaultSlow: .03, FaultSlowStart: .02, FaultDead: .01, FaultLoop: .05, FaultLoopStopped: .01, FaultVerdict: .005,
		FaultRefrain: .03, FaultToolPause: .04, FaultBufferSize: .02, FaultBufferTime: .02, FaultBufferEnd: .02, FaultNetwork: .03, FaultRender: .02,
		FaultTyping: .01, FaultHidden: .05, FaultAbort: .03, FaultWaste: .02, FaultIdleDrop: .01, FaultBroken: .01, FaultRetraction: .01, FaultClock: .01,
		FaultReusedID: .005, FaultQueue: .02, FaultRetry: .03, FaultHedge: .02, FaultLostBeacon: .02, FaultJitter: .05, FaultEngineStall: .05,
	},
}

// Scenarios lists the names of scenarios.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// ScenarioShares returns the shares of a scenario; ok is false when there is none of that name.
func ScenarioShares(name string) (s Shares, ok bool) {
	s, ok = scenarios[name]
	return maps.Clone(s), ok
}

// Parse sets shares from a list like "stall=0.1,loop=0.05"; "none" removes all that came before.
func (s Shares) Parse(list string) error {
	var errs []error
	for _, item := range strings.Split(list, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		switch {
		case name == "":
			continue
		case name == "none" && !ok:
			clear(s)
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		known := slices.ContainsFunc(FaultNames(), func(n [2]string) bool { return n[0] == name })
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%q is no fault; the list is in fermata simulate --help", name))
		case err != nil || v < 0 || v > 1:
			errs = append(errs, fmt.Errorf("the share of %s is %q; want 0 to 1, for instance %s=0.1", name, value, name))
		default:
			s[Fault(name)] = v
		}
	}
	return errors.Join(errs...)
}

package replay

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fermata-io/fermata/internal/wire"
)

var (
	sseEvent = regexp.MustCompile(`^\d+\. \[(\S+)\] recv=(\S+) step=(\S+) finished=(true|false) seq=(\d+) msg="(.*)"$`)
	sseValue = regexp.MustCompile(`^([a-z_]+)=(\S+)`)
)

// sseLog is one job of an event log: named instants, and events with the server's and the browser's time.
type sseLog struct {
	values map[string]string
	events []sseLogEvent
}

type sseLogEvent struct {
	sent, received int64 // µs, each on its own clock
	kind           wire.Kind
	bytes          uint32
}

func (l *sseLog) instant(name string) int64 {
	t, err := time.Parse(time.RFC3339Nano, l.values[name])
	if err != nil {
		return 0
	}
	return t.UnixMicro()
}

// readSSELog reads a chat job's diagnostic log: for each event the server's time and the browser's time of receipt. It
// gives a server stream and a client record under one id; the two clocks differ and are kept apart.
func readSSELog(r *reader) error {
	log := sseLog{values: map[string]string{}}
	err := r.src.lines(func(n int, line []byte) error {
		text := string(line)
		m := sseEvent.FindStringSubmatch(text)
		if m == nil {
			if v := sseValue.FindStringSubmatch(text); v != nil {
				log.values[v[1]] = v[2]
			}
			return nil
		}
		sent, err1 := time.Parse(time.RFC3339Nano, m[1])
		received, err2 := time.Parse(time.RFC3339Nano, m[2])
		if errors.Join(err1, err2) != nil {
			r.skip(fmt.Sprintf("line %d", n), "times are not RFC 3339")
			return nil //nolint:nilerr // one bad line, told and counted
		}
		e := sseLogEvent{sent: sent.UnixMicro(), received: received.UnixMicro(), kind: wire.KindRole}
		switch step, finished := m[3], m[4] == "true"; {
		case strings.HasPrefix(step, "chat:tokens") && !finished:
			e.kind, e.bytes = wire.KindContent, uint32(min(len(m[6]), 1<<20))
			if !utf8.ValidString(m[6]) {
				e.bytes = uint32(min(len(strings.ToValidUTF8(m[6], "\uFFFD")), 1<<20))
			}
		case step == "job:status" && finished:
			e.kind = wire.KindDone
		}
		log.events = append(log.events, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(log.events) == 0 {
		return errors.New("holds no event with a server time and recv=")
	}
	id, aliases := r.own(log.values["job_id"], 0)
	if err := r.stream(log.server(id, aliases)); err != nil {
		return err
	}
	r.note("server and receive times are of two clocks; chunks are events, their bytes those of the logged text")
	r.note("the log keeps only the last events of the job: times of the first token are kept as reported by it (definition sse_log)")
	return r.client(log.client(id))
}

func (l *sseLog) server(id string, aliases []string) *wire.Stream {
	start := l.events[0].sent
	s := &wire.Stream{
		RequestID: id, Aliases: aliases, Emitter: "sse_log", Final: true,
		StartedAt: start, StartUnknown: true, FinishReason: l.values["status"],
	}
	if s.FinishReason == "success" {
		s.FinishReason = "stop"
	}
	last := int64(0)
	for _, e := range l.events {
		last = max(last, e.sent-start)
		s.Chunks.T = append(s.Chunks.T, last)
		s.Chunks.Kind = append(s.Chunks.Kind, e.kind)
		s.Chunks.Bytes = append(s.Chunks.Bytes, e.bytes)
	}
	s.EndUS = wire.Some(last)
	if from, first := l.instant("executing_at"), l.instant("first_token_server_event_at"); from > 0 && first >= from {
		s.Reported = wire.Reported{Definition: "sse_log", TTFTUS: wire.Some(first - from)}
	}
	return s
}

func (l *sseLog) client(id string) *wire.Client {
	origin := l.instant("submitted_at")
	if origin == 0 || origin > l.events[0].received {
		origin = l.events[0].received
	}
	since := func(name string) wire.Opt[int64] {
		if at := l.instant(name); at >= origin && at > 0 {
			return wire.Some(at - origin)
		}
		return wire.Opt[int64]{}
	}
	c := &wire.Client{
		RequestID: id, SessionID: id, Final: true, TimeOrigin: origin, Protocol: "sse",
		Headers: since("events_connected_at"), Done: since("finished_at"),
	}
	if l.instant("submitted_at") > 0 {
		c.Submit = since("submitted_at")
	}
	last := int64(0)
	for _, e := range l.events {
		last = max(last, e.received-origin)
		c.Recv.T = append(c.Recv.T, last)
		c.Recv.Kind = append(c.Recv.Kind, e.kind)
		c.Recv.Bytes = append(c.Recv.Bytes, e.bytes)
	}
	if c.Done.OK {
		c.Done.V = max(c.Done.V, last)
	}
	return c
}

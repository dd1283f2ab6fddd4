package replay

import "github.com/fermata-io/fermata/internal/wire"

// Segments cuts a stream that has more chunks than one record may hold. Offsets keep counting from the stream's start, and
// what holds for the whole stream is in every segment, what is known at its end only in the last.
func Segments(s *wire.Stream, most int) []*wire.Stream {
	n := s.Chunks.Len()
	if n <= most || most <= 0 {
		return []*wire.Stream{s}
	}
	var out []*wire.Stream
	for from := 0; from < n; from += most {
		to := min(from+most, n)
		p := *s
		p.Seq = uint32(len(out)) //nolint:gosec // bounded by the chunks of one stream
		p.Final = to == n
		if !p.Final {
			p.EndUS, p.ObservedUS = wire.Opt[int64]{}, wire.Opt[int64]{}
			p.FinishReason, p.StopReason, p.ErrorType = "", "", ""
		}
		p.Chunks = wire.Chunks{
			T: s.Chunks.T[from:to], Bytes: cut(s.Chunks.Bytes, from, to), Tokens: cut(s.Chunks.Tokens, from, to),
			Kind: cut(s.Chunks.Kind, from, to), Choice: cut(s.Chunks.Choice, from, to), Text: cut(s.Chunks.Text, from, to),
			Logprob: cut(s.Chunks.Logprob, from, to),
		}
		out = append(out, &p)
	}
	return out
}

func cut[T any](a []T, from, to int) []T {
	if len(a) == 0 {
		return nil
	}
	return a[from:to]
}

package wire

// streamDraft is a stream while it is read.
type streamDraft struct {
	*Stream
	ch                 chunkDraft
	haveSeq, haveFinal bool
}

var speculativeTable = newJSONTable([]jsonField[Stream]{
	optField("draft", wantCount, func(s *Stream) *Opt[int64] { return &s.SpecDraft }),
	optField("accepted", wantCount, func(s *Stream) *Opt[int64] { return &s.SpecAccepted }),
})

var reportedTable = newJSONTable([]jsonField[Reported]{
	strField("definition", func(r *Reported) *string { return &r.Definition }),
	optField("ttft_us", wantUS, func(r *Reported) *Opt[int64] { return &r.TTFTUS }),
	optField("ttfa_us", wantUS, func(r *Reported) *Opt[int64] { return &r.TTFAUS }),
	optField("itl_mean_us", wantUS, func(r *Reported) *Opt[int64] { return &r.ITLMeanUS }),
	optField("tpot_us", wantUS, func(r *Reported) *Opt[int64] { return &r.TPOTUS }),
	optField("e2e_us", wantUS, func(r *Reported) *Opt[int64] { return &r.E2EUS }),
})

// cacheTable is the object form of cache_hit.
var cacheTable = newJSONTable([]jsonField[Stream]{
	strField("result", func(s *Stream) *string { return &s.CacheHit }),
	strField("level", func(s *Stream) *string { return &s.CacheLevel }),
})

func targetFields[T any](at func(*T) *Target) []jsonField[T] {
	return []jsonField[T]{
		strField("provider", func(r *T) *string { return &at(r).Provider }),
		strField("deployment", func(r *T) *string { return &at(r).Deployment }),
		strField("model", func(r *T) *string { return &at(r).Model }),
		strField("model_version", func(r *T) *string { return &at(r).ModelVersion }),
	}
}

var headersField = optField("headers_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.HeadersUS })

var streamTable = newJSONTable(
	[]jsonField[streamDraft]{
		strField("request_id", func(s *streamDraft) *string { return &s.RequestID }),
		strField("tenant", func(s *streamDraft) *string { return &s.Tenant }),
		strField("tier", func(s *streamDraft) *Tier { return &s.Tier }),
		smallField("attempt", 1, func(s *streamDraft) *uint32 { return &s.Attempt }),
		strField("emitter", func(s *streamDraft) *string { return &s.Emitter }),
		seqField(func(s *streamDraft) (*uint32, *bool) { return &s.Seq, &s.haveSeq }),
		finalField(func(s *streamDraft) (bool, *bool, *bool) { return s.Seq != 0, &s.Final, &s.haveFinal }),
	},
	targetFields(func(s *streamDraft) *Target { return &s.Target }),
	[]jsonField[streamDraft]{
		strField("route", func(s *streamDraft) *string { return &s.Route }),
		strField("app", func(s *streamDraft) *string { return &s.App }),
		strField("region", func(s *streamDraft) *string { return &s.Region }),
		strField("query_type", func(s *streamDraft) *string { return &s.QueryType }),
		optField("prompt_tokens", wantCount, func(s *streamDraft) *Opt[int64] { return &s.PromptTokens }),
		optField("output_tokens", wantCount, func(s *streamDraft) *Opt[int64] { return &s.OutputTokens }),
		optField("reasoning_tokens", wantCount, func(s *streamDraft) *Opt[int64] { return &s.ReasoningTokens }),
		optField("cached_tokens", wantCount, func(s *streamDraft) *Opt[int64] { return &s.CachedTokens }),
		{
			name: "cache_hit",
			set: func(d *jsonDecoder, s *streamDraft) (err error) {
				if d.peek() == '{' {
					return cacheTable.read(d, s.Stream)
				}
				if d.peek() != '"' {
					return d.wrongType("a string or an object with result and level")
				}
				s.CacheHit, err = d.string()
				return err
			},
			add: func(dst []byte, s *streamDraft) []byte {
				if s.CacheHit != "" {
					return appendString(dst, s.CacheHit)
				}
				return dst
			},
		},
		strField("cache_level", func(s *streamDraft) *string { return &s.CacheLevel }),
		strField("cache_key_version", func(s *streamDraft) *string { return &s.CacheKeyVersion }),
		optField("chunk_size", wantCount, func(s *streamDraft) *Opt[int64] { return &s.ChunkSize }),
		optField("max_num_batched_tokens", wantCount, func(s *streamDraft) *Opt[int64] { return &s.MaxNumBatchedTokens }),
		objField("speculative", speculativeTable, func(s *streamDraft) *Stream { return s.Stream }),
		optField("batch_size", wantCount, func(s *streamDraft) *Opt[int64] { return &s.BatchSize }),
		optField("queue_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.QueueUS }),
		optField("prefill_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.PrefillUS }),
		optField("decode_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.DecodeUS }),
		intField("started_at", wantInstant, func(s *streamDraft) *int64 { return &s.StartedAt }),
		boolField("start_unknown", func(s *streamDraft) *bool { return &s.StartUnknown }),
		headersField,
		alias("ttfb_us", headersField),
		optField("end_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.EndUS }),
		optField("observed_us", wantUS, func(s *streamDraft) *Opt[int64] { return &s.ObservedUS }),
		optField("lost_chunks", wantCount, func(s *streamDraft) *Opt[int64] { return &s.LostChunks }),
		objField("chunks", streamChunkTable, func(s *streamDraft) *chunkDraft { return &s.ch }),
		onChunks(textField, func(s *streamDraft) *chunkDraft { return &s.ch }),
		onChunks(logprobsField, func(s *streamDraft) *chunkDraft { return &s.ch }),
		objField("reported", reportedTable, func(s *streamDraft) *Reported { return &s.Reported }),
		boolField("synthetic", func(s *streamDraft) *bool { return &s.Synthetic }),
		strField("finish_reason", func(s *streamDraft) *string { return &s.FinishReason }),
		{
			name: "stop_reason", // engines give a word, or the number of the token that stopped them
			set: func(d *jsonDecoder, s *streamDraft) (err error) {
				s.StopReason, err = d.wordOrNumber("")
				return err
			},
			add: func(dst []byte, s *streamDraft) []byte {
				if s.StopReason != "" {
					return appendString(dst, s.StopReason)
				}
				return dst
			},
		},
		classField("error", func(s *streamDraft) *string { return &s.ErrorType }),
		smallField("status", 0, func(s *streamDraft) *int32 { return &s.Status }),
		strField("response_id", func(s *streamDraft) *string { return &s.ResponseID }),
		hexField("trace_id", func(s *streamDraft) *string { return &s.TraceID }),
		hexField("span_id", func(s *streamDraft) *string { return &s.SpanID }),
		strsField("aliases", func(s *streamDraft) *[]string { return &s.Aliases }),
	},
)

// onChunks lifts a field of the chunks object to the object around it; it is read in both places and
// written in the inner one.
func onChunks[T any](f jsonField[chunkDraft], at func(*T) *chunkDraft) jsonField[T] {
	return jsonField[T]{name: f.name, set: func(d *jsonDecoder, r *T) error { return f.set(d, at(r)) }}
}

// seqField orders segments; that a body has it says that more segments may follow.
func seqField[T any](at func(*T) (seq *uint32, have *bool)) jsonField[T] {
	f := smallField("seq", 0, func(r *T) *uint32 { seq, _ := at(r); return seq })
	set := f.set
	f.set = func(d *jsonDecoder, r *T) error {
		_, have := at(r)
		*have = true
		return set(d, r)
	}
	return f
}

// finalField says that no segment follows. It is written where its absence would say the opposite.
func finalField[T any](at func(*T) (segment bool, final, have *bool)) jsonField[T] {
	f := boolField("final", func(r *T) *bool { _, final, _ := at(r); return final })
	set := f.set
	f.set = func(d *jsonDecoder, r *T) error {
		_, _, have := at(r)
		*have = true
		return set(d, r)
	}
	f.add = func(dst []byte, r *T) []byte {
		switch segment, final, _ := at(r); {
		case segment && *final:
			return append(dst, "true"...)
		case !segment && !*final:
			return append(dst, "false"...)
		}
		return dst
	}
	return f
}

// AppendStreamJSON appends s as a body of POST /v1/chunks. Text is written where the record has it.
func AppendStreamJSON(dst []byte, s *Stream) []byte {
	return streamTable.write(dst, &streamDraft{Stream: s, ch: chunkDraft{Chunks: &s.Chunks}})
}

// EachStream reads the body of POST /v1/chunks and calls yield for each item with the record or what is
// wrong with it. Record and error are valid during the call only: the arrays are used again.
func EachStream(body []byte, opt DecodeOptions, yield func(index int, s *Stream, err *ItemError)) DecodeStats {
	d := &jsonDecoder{jsonReader: jsonReader{b: body}, opt: opt}
	var rec Stream
	draft := streamDraft{Stream: &rec}
	item := func() error {
		index, start := d.stats.Items, d.i
		rec = Stream{Tenant: DefaultTenant, Tier: TierServer, Attempt: 1, Chunks: rec.Chunks}
		draft.haveSeq, draft.haveFinal = false, false
		draft.ch.reset(&rec.Chunks)
		if err := streamTable.read(d, &draft); err != nil {
			return err
		}
		d.finishStream(&draft)
		d.stats.Items++
		if e := refused(index, rec.RequestID, d.checked(start, rec.Validate)); e != nil {
			yield(index, nil, e)
			return nil
		}
		yield(index, &rec, nil)
		return nil
	}
	d.items(item, func(err error, inItem bool) {
		e := &ItemError{Index: d.stats.Items, Err: err}
		if inItem {
			e.RequestID = goodID(rec.RequestID)
		}
		yield(e.Index, nil, e)
		d.stats.Items++
	})
	return d.stats
}

func (d *jsonDecoder) finishStream(s *streamDraft) {
	if !s.haveSeq && !s.haveFinal {
		s.Final = true
	}
	if s.Tenant == "" {
		s.Tenant = DefaultTenant
	}
	if s.Tier == "" {
		s.Tier = TierServer
	}
	d.finishChunks(&s.ch)
}

// DecodeStreams reads the body of POST /v1/chunks: the good items in their order, and what is wrong with
// the others.
func DecodeStreams(body []byte, opt DecodeOptions) (items []Stream, errs []ItemError) {
	EachStream(body, opt, func(_ int, s *Stream, err *ItemError) {
		if err != nil {
			errs = append(errs, *err)
			return
		}
		c := *s
		c.Chunks = s.Chunks.clone()
		items = append(items, c)
	})
	return items, errs
}

func (c *Chunks) clone() Chunks {
	return Chunks{
		T: append([]int64(nil), c.T...), Bytes: append([]uint32(nil), c.Bytes...),
		Tokens: append([]uint32(nil), c.Tokens...), Kind: append([]Kind(nil), c.Kind...),
		Choice: append([]uint16(nil), c.Choice...), Text: append([]string(nil), c.Text...),
		Hashes:  append([]string(nil), c.Hashes...),
		Logprob: append([]float32(nil), c.Logprob...),
	}
}

// checked returns the problems of the item just read, an object at start; those that only the whole record shows are looked for
// when reading found none. Senders are told the field that they sent.
func (d *jsonDecoder) checked(start int, validate validator) error {
	if len(d.errs) > 0 || d.opt.Now.IsZero() {
		return d.joined()
	}
	err := validate(d.opt.Now, d.opt.Limits)
	prefix := ""
	if len(d.path) > 0 {
		prefix = d.where() + "."
	}
	for _, e := range FieldErrors(err) {
		field, given := d.sentAs(start, e.Field)
		e.Field = prefix + field
		if given || d.envelope == nil {
			continue
		}
		if field, given = d.sentAs(*d.envelope, field); given {
			e.Field = field
		}
	}
	return err
}

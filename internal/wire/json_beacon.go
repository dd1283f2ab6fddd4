package wire

// EachClient reads the body of POST /v1/rum and calls yield for each stream with the record or what is
// wrong with it. A body's object is one stream, or an envelope whose streams inherit its fields; then seq
// numbers the beacon. Each stream of an envelope has an index of its own. Record and error are valid
// during the call only.
func EachClient(body []byte, opt DecodeOptions, yield func(index int, c *Client, err *ItemError)) DecodeStats {
	b := &beaconReader{jsonDecoder: jsonDecoder{jsonReader: jsonReader{b: body}, opt: opt}, yield: yield}
	b.draft.Client = &b.rec
	b.items(b.item, func(err error, inItem bool) {
		id := ""
		if inItem {
			id = b.rec.RequestID
		}
		b.refuse(id, err)
	})
	return b.stats
}

type beaconReader struct {
	jsonDecoder
	rec   Client
	draft clientDraft
	yield func(index int, c *Client, err *ItemError)
}

func (b *beaconReader) refuse(requestID string, err error) {
	index := b.stats.Items
	b.stats.Items++
	b.yield(index, nil, refused(index, requestID, err))
}

// item reads a single stream or an envelope.
func (b *beaconReader) item() error {
	c, start := &b.draft, b.i
	b.rec = Client{Tenant: DefaultTenant, Recv: b.rec.Recv, DOM: b.rec.DOM, Paint: b.rec.Paint}
	*c = clientDraft{Client: &b.rec, recv: c.recv, dom: c.dom, paint: c.paint}
	c.resetChunks()
	if err := clientTable.read(&b.jsonDecoder, c); err != nil {
		return err
	}
	if c.streamsAt == 0 || len(b.errs) > 0 {
		b.take(start)
		return nil
	}
	end := b.i
	b.i, b.envelope = c.streamsAt, &start
	defer func() { b.envelope = nil }()
	if err := b.streams(); err != nil {
		return err
	}
	b.i = end
	return nil
}

// streams reads the streams of an envelope, whose syntax was checked.
func (b *beaconReader) streams() error {
	c := &b.draft
	envelope := b.rec
	if !c.haveBeaconSeq {
		envelope.BeaconSeq = envelope.Seq
	}
	envelope.Seq = 0
	haveFinal := c.haveFinal
	b.i++
	more, err := b.more(']', true)
	for i := 0; more && err == nil; i++ {
		if b.stats.Items >= b.opt.MaxItems {
			b.refuse("", Fieldf("streams", "the body holds more than %d items; split the batch", b.opt.MaxItems))
			return nil
		}
		recv, dom, paint := b.rec.Recv, b.rec.DOM, b.rec.Paint // their room
		b.rec = envelope
		b.rec.Recv, b.rec.DOM, b.rec.Paint = recv, dom, paint
		*c = clientDraft{Client: &b.rec, inStream: true, haveFinal: haveFinal, recv: c.recv, dom: c.dom, paint: c.paint}
		c.resetChunks()
		b.errs = b.errs[:0]
		b.path = append(b.path[:0], pathStep{name: "streams"}, pathStep{i: i})
		start := b.i
		if err := clientTable.read(&b.jsonDecoder, c); err != nil {
			return err
		}
		b.take(start)
		more, err = b.more(']', false)
	}
	return err
}

// take checks the stream just read, an object at start, and hands it on.
func (b *beaconReader) take(start int) {
	c := &b.draft
	if !c.haveSeq && !c.haveFinal {
		c.Final = true
	}
	if c.Tenant == "" {
		c.Tenant = DefaultTenant
	}
	if !b.opt.Now.IsZero() {
		c.ReceivedAt = b.opt.Now.UnixMicro()
	}
	if err := b.checked(start, c.Validate); err != nil {
		b.refuse(c.RequestID, err)
		return
	}
	index := b.stats.Items
	b.stats.Items++
	b.yield(index, c.Client, nil)
}

// DecodeClients reads the body of POST /v1/rum: the good streams in their order, and what is wrong with
// the others.
func DecodeClients(body []byte, opt DecodeOptions) (items []Client, errs []ItemError) {
	EachClient(body, opt, func(_ int, r *Client, err *ItemError) {
		if err != nil {
			errs = append(errs, *err)
			return
		}
		c := *r
		c.Recv, c.DOM, c.Paint = r.Recv.clone(), r.DOM.clone(), r.Paint.clone()
		items = append(items, c)
	})
	return items, errs
}

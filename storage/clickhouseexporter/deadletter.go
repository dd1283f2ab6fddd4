package clickhouseexporter

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"
)

// deadLetters keeps the records that can never be written. It is for concurrent use.
type deadLetters struct {
	cfg DeadLetterConfig

	mu   sync.Mutex
	file *os.File
	size int64
}

var errDeadLettersFull = errors.New("the file of dead letters is full (dead_letter.max_bytes)")

// put appends a record, on disk when it returns. Without a file it does nothing.
func (d *deadLetters) put(record []byte) error {
	if d.cfg.File == "" {
		return nil
	}
	b := record
	for _, field := range [...]protowire.Number{2, 2, 1} { // of its scope, its resource, all of them
		b = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), b)
	}
	one, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	line, err := (&plog.JSONMarshaler{}).MarshalLogs(one)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	line = append(line, '\n')
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	if d.size+int64(len(line)) > d.cfg.MaxBytes {
		return errDeadLettersFull
	}
	n, err := d.file.Write(line)
	d.size += int64(n)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	if err := d.file.Sync(); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	return nil
}

// open opens the file at the first record; d.mu is held.
func (d *deadLetters) open() error {
	if d.file != nil {
		return nil
	}
	f, err := os.OpenFile(d.cfg.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	d.file, d.size = f, st.Size()
	return nil
}

func (d *deadLetters) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	return err
}

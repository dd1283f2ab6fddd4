package replay

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/zeebo/xxh3"
)

// maxDocument bounds a file that can only be read as one document; line-oriented files may be larger.
const maxDocument = 1 << 30

// maxLine bounds one line of a line-oriented file.
const maxLine = 64 << 20

// sniffLen is how much of a file is looked at to tell its format.
const sniffLen = 64 << 10

// Source is one file to read. Gzip is undone on the way.
type Source struct {
	name string // base name
	path string
	hash string // hex of the content's hash, after decompression
	head []byte
	size int64
}

// Open reads the file once, to learn its hash and its beginning.
func Open(path string) (*Source, error) {
	s := &Source{name: filepath.Base(path), path: path}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	h := xxh3.New()
	head := make([]byte, sniffLen)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	s.head = head[:n]
	_, _ = h.Write(s.head)
	rest, err := io.Copy(h, r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	s.size = int64(n) + rest
	sum := h.Sum128().Bytes()
	s.hash = hex.EncodeToString(sum[:])
	return s, nil
}

// Name is the file's base name.
func (s *Source) Name() string { return s.name }

// reader opens the file from its beginning.
func (s *Source) reader() (io.ReadCloser, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(f, 64<<10)
	magic, _ := br.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return &readCloser{Reader: br, close: f.Close}, nil
	}
	z, err := gzip.NewReader(br)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return &readCloser{Reader: z, close: func() error { return errors.Join(z.Close(), f.Close()) }}, nil
}

type readCloser struct {
	io.Reader
	close func() error
}

func (r *readCloser) Close() error { return r.close() }

// document reads the whole file.
func (s *Source) document() ([]byte, error) {
	if s.size > maxDocument {
		return nil, fmt.Errorf("%s has %d MB; a file of this format may have at most %d", s.name, s.size>>20, maxDocument>>20)
	}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return b, nil
}

// lines calls f with each line that is not blank; n counts all lines from 1.
func (s *Source) lines(f func(n int, line []byte) error) error {
	r, err := s.reader()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			continue
		}
		if err := f(n, line); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	return nil
}

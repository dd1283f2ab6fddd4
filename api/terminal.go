package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
)

// forTerminals has JSON answers hold no character that a terminal acts on. JSON itself takes care of the first 32; DEL, the
// controls of ISO 6429 and those that change the direction of text are escaped here, which every reader of JSON undoes.
func forTerminals(c *gin.Context) {
	c.Writer = &terminalWriter{c.Writer}
	c.Next()
}

type terminalWriter struct{ gin.ResponseWriter }

// Write escapes what is a body of JSON, which is written in whole characters.
func (w *terminalWriter) Write(b []byte) (int, error) {
	if !strings.Contains(w.Header().Get("Content-Type"), "json") {
		return w.ResponseWriter.Write(b)
	}
	if _, err := w.ResponseWriter.Write(escapeControls(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WriteString is Write.
func (w *terminalWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// escapeControls returns b itself where there is nothing to escape.
func escapeControls(b []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(b); {
		// Everything that is escaped is DEL or begins with one of three bytes, which other text rarely has.
		if c := b[i]; c != 0x7f && c != 0xc2 && c != 0xd8 && c != 0xe2 {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if (r > 0x1f && unicode.IsControl(r)) || unicode.Is(unicode.Bidi_Control, r) {
			if out == nil {
				out = make([]byte, 0, len(b)+64)
			}
			out = append(out, b[done:i]...)
			out = fmt.Appendf(out, `\u%04x`, r)
			done = i + n
		}
		i += n
	}
	if out == nil {
		return b
	}
	return append(out, b[done:]...)
}

package corpus

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is a piece of legitimate text, as long as one answer.
type Text struct {
	Kind   string // code, json, licence, man, translation, base64, …
	Source string // file and place
	Text   string
}

// kinds maps file name endings to kinds of text.
var kinds = map[string]string{
	".go": "code", ".c": "code", ".h": "code", ".py": "code", ".pl": "code", ".pm": "code", ".rb": "code", ".ts": "code",
	".java": "code", ".rs": "code", ".sh": "code", ".el": "code", ".vim": "code", ".cmake": "code", ".tcl": "code", ".s": "assembler",
	".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".css": "css",
	".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "yaml", ".xml": "xml", ".svg": "svg", ".html": "html", ".htm": "html",
	".csv": "csv", ".tsv": "csv", ".sql": "sql", ".log": "log", ".md": "markdown", ".rst": "markdown", ".txt": "text", ".tex": "text",
	".po": "translation", ".mo": "translation", ".proto": "code", ".map": "sourcemap", ".pem": "base64", ".asc": "base64",
}

// Machine gathers legitimate texts from what this machine has installed: at most perKind bytes of each kind,
// cut into pieces of 800 to 16 000 characters (200 to 4 000 tokens). The choice is the same for the same
// files and seed.
func Machine(perKind int, seed uint64) []Text {
	var roots []string
	roots = append(roots, goEnv("GOMODCACHE"), goEnv("GOROOT"), "/usr/share", "/usr/lib", "/usr/include", "/var/log")
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, nodeModules(home, 3)...)
	}
	type file struct {
		path string
		h    uint64
	}
	byKind := map[string][]file{}
	for _, root := range roots {
		if root == "" {
			continue
		}
		_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what can't be read is left out
			}
			if !e.Type().IsRegular() {
				return nil
			}
			if k := kindOf(p); k != "" {
				byKind[k] = append(byKind[k], file{p, hash(p, seed)})
			}
			return nil
		})
	}
	var out []Text
	for k, files := range byKind {
		sort.Slice(files, func(i, j int) bool { return files[i].h < files[j].h })
		left := perKind
		for _, f := range files {
			if left <= 0 {
				break
			}
			r := rand.New(rand.NewPCG(f.h, seed)) //nolint:gosec // a choice, no secret
			for _, t := range cut(k, f.path, content(k, f.path, r), r) {
				if left <= 0 {
					break
				}
				left -= len(t.Text)
				out = append(out, t)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Source < out[j].Source })
	return out
}

func goEnv(name string) string {
	b, err := exec.Command("go", "env", name).Output() //nolint:gosec,noctx // two fixed names
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func nodeModules(dir string, depth int) (out []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case e.Name() == "node_modules":
			out = append(out, p)
		case depth > 0 && !strings.HasPrefix(e.Name(), "."):
			out = append(out, nodeModules(p, depth-1)...)
		}
	}
	return out
}

func kindOf(p string) string {
	name := strings.TrimSuffix(filepath.Base(p), ".gz")
	lower := strings.ToLower(name)
	switch {
	case strings.Contains(p, "/man/man") || strings.Contains(p, "/man/"):
		return "man"
	case strings.HasPrefix(lower, "licen") || strings.HasPrefix(lower, "copying") || lower == "copyright":
		return "licence"
	case strings.HasPrefix(lower, "changelog") || strings.HasPrefix(lower, "news"):
		return "changelog"
	case strings.HasSuffix(lower, ".min.js") || strings.HasSuffix(lower, ".min.css"):
		return "minified"
	case strings.Contains(p, "/i18n/locales/"), strings.Contains(p, "/i18n/charmaps/"):
		return "table"
	case strings.HasPrefix(p, "/usr/lib/") && strings.HasSuffix(p, ".so"):
		return "binary"
	}
	return kinds[filepath.Ext(lower)]
}

func hash(s string, seed uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.LittleEndian.AppendUint64([]byte(s), seed))
	return h.Sum64()
}

const fileMax = 4 << 20

// content reads a file as text; binaries become base64 or a hex dump.
func content(kind, path string, r *rand.Rand) string {
	f, err := os.Open(path) //nolint:gosec // a test's own choice
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	var src io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return ""
		}
		src = z
	}
	b, _ := io.ReadAll(io.LimitReader(src, fileMax))
	switch {
	case kind == "binary":
		b = b[:min(len(b), 200_000)]
		switch r.IntN(3) {
		case 0:
			return base64.StdEncoding.EncodeToString(b)
		case 1:
			return wrap(base64.StdEncoding.EncodeToString(b), 76)
		default:
			return hex.Dump(b[:min(len(b), 60_000)])
		}
	case strings.HasSuffix(path, ".mo"):
		return translations(b)
	case !utf8.Valid(b), bytes.IndexByte(b, 0) >= 0:
		return ""
	}
	return string(b)
}

func wrap(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width])
		b.WriteByte('\n')
		s = s[width:]
	}
	b.WriteString(s)
	return b.String()
}

// translations reads a gettext catalogue (GNU .mo, little endian) as the .po text it was made from.
func translations(b []byte) string {
	if len(b) < 28 || binary.LittleEndian.Uint32(b) != 0x950412de {
		return ""
	}
	n, from, to := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint32(b[16:])
	str := func(table, i uint32) string {
		at := int(table) + int(i)*8
		if at+8 > len(b) {
			return ""
		}
		l, o := int(binary.LittleEndian.Uint32(b[at:])), int(binary.LittleEndian.Uint32(b[at+4:]))
		if o < 0 || l < 0 || o+l > len(b) {
			return ""
		}
		return string(b[o : o+l])
	}
	var out strings.Builder
	for i := range n {
		id, text := str(from, i), str(to, i)
		if !utf8.ValidString(id) || !utf8.ValidString(text) {
			return ""
		}
		out.WriteString("msgid ")
		out.WriteString(strconv.QuoteToGraphic(id))
		out.WriteString("\nmsgstr ")
		out.WriteString(strconv.QuoteToGraphic(text))
		out.WriteString("\n\n")
	}
	return out.String()
}

// cut makes pieces of a text as long as answers. Large files give a few pieces only, so that no file
// dominates.
func cut(kind, path, text string, r *rand.Rand) []Text {
	var out []Text
	for at := 0; at+800 < len(text) && len(out) < 12; {
		n := 800 + r.IntN(15_200)
		end := min(at+n, len(text))
		for end > at && end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		out = append(out, Text{kind, path + "@" + strconv.Itoa(at), text[at:end]})
		at = end
		if len(text) > 200_000 { // spread over the file
			at += r.IntN(len(text) / 12)
			for at < len(text) && !utf8.RuneStart(text[at]) {
				at++
			}
		}
	}
	return out
}

// Chunks cuts a text into chunks of about four bytes, as tokens come.
func Chunks(text string, r *rand.Rand) []string {
	var out []string
	for len(text) > 0 {
		n := min(1+r.IntN(7), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

package resident

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// GiveBack unmaps the pages of this program and of some files that it has mapped, named by their paths; what is needed again is mapped
// again from the page cache. Parts that can be written, or were while they were linked, are left alone.
func GiveBack(files ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("find what is mapped: %w", err)
	}
	defer func() { _ = f.Close() }()
	names := []string{exe}
	for _, name := range files {
		if real, err := filepath.EvalSymlinks(name); err == nil { // as the kernel names it
			names = append(names, real)
		}
	}
	all, err := untouched(f, names)
	for _, m := range all {
		// Fails for pages that are locked into memory: they stay.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED)
	}
	return err
}

// mapping is a part of a file in the memory of a process.
type mapping struct{ start, size uintptr }

// untouched reads a process's smaps and returns the mappings of files that can't be written and hold nothing but what is in the file.
func untouched(smaps io.Reader, files []string) (out []mapping, err error) {
	var last mapping // size 0: none that counts
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		key, value, ok := bytes.Cut(lines.Bytes(), []byte(":"))
		if !ok || bytes.ContainsRune(key, ' ') {
			last = readOnly(lines.Text(), files)
			continue
		}
		switch own := string(bytes.TrimSpace(value)) != "0 kB"; string(key) {
		case "Anonymous": // in memory
			if own {
				last.size = 0
			}
		case "Swap": // follows
			if !own && last.size > 0 {
				out = append(out, last)
			}
		}
	}
	return out, lines.Err()
}

// readOnly reads the first line of a mapping, such as "7f00-7f80 r-xp 00001000 fe:00 1234   /usr/lib/a.so". Of other files, and of what
// can be written, it returns the zero value.
func readOnly(line string, files []string) (m mapping) {
	path := strings.IndexByte(line, '/')
	if path < 0 || !slices.Contains(files, line[path:]) {
		return m
	}
	f := strings.Fields(line[:path])
	if len(f) < 2 || strings.Contains(f[1], "w") {
		return m
	}
	from, to, _ := strings.Cut(f[0], "-")
	start, err := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if err != nil || err2 != nil || end <= start {
		return m
	}
	return mapping{uintptr(start), uintptr(end - start)}
}

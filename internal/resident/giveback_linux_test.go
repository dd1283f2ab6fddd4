package resident

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// residentBytes is how much of a mapping is held, by the kernel's own count.
func residentBytes(t *testing.T, path string) string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(smaps), path+"\n")
	require.True(t, found)
	_, after, found = strings.Cut(after, "Rss:")
	require.True(t, found)
	rss, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(rss)
}

// sum reads all of a mapping.
func sum(b []byte) (n int) {
	for _, c := range b {
		n += int(c)
	}
	return n
}

// What was read is no longer held, and can be read all the same; other files, and what was written, stay.
func TestGiveBack(t *testing.T) {
	const size, none = 1 << 20, "0 kB"
	mapped := func(name string, prot int) (path string, b []byte) {
		path = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{1}, size), 0o600))
		f, err := os.Open(path)
		require.NoError(t, err)
		b, err = unix.Mmap(int(f.Fd()), 0, size, prot, unix.MAP_PRIVATE)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
		require.Equal(t, size, sum(b))
		require.NotEqual(t, none, residentBytes(t, path))
		return path, b
	}
	ours, b := mapped("ours", unix.PROT_READ)
	others, _ := mapped("others", unix.PROT_READ)
	writable, w := mapped("writable", unix.PROT_READ|unix.PROT_WRITE)
	linked, l := mapped("linked", unix.PROT_READ|unix.PROT_WRITE)
	w[0], l[0] = 7, 7
	require.NoError(t, unix.Mprotect(l, unix.PROT_READ)) // as a linker does when it is done

	require.NoError(t, GiveBack(ours, writable, linked))
	require.Equal(t, none, residentBytes(t, ours))
	require.NotEqual(t, none, residentBytes(t, others)) // not all of it: the kernel takes pages of files when memory is short
	require.Equal(t, size, sum(b))
	require.Equal(t, size+6, sum(w))
	require.Equal(t, size+6, sum(l))
}

// Pages that were written count as the process's own in memory and in swap alike.
func TestUntouched(t *testing.T) {
	of := func(anonymous, swap string) string {
		return "7f00-7f80 r--p 00001000 fe:00 1234  /lib/a.so\nRss: 100 kB\nAnonymous: " + anonymous + " kB\nFilePmdMapped: 0 kB\nSwap: " + swap + " kB\nVmFlags: rd mr\n"
	}
	for _, c := range []struct {
		anonymous, swap string
		want            []mapping
	}{{"0", "0", []mapping{{0x7f00, 0x80}}}, {"4", "0", nil}, {"0", "4", nil}, {"4", "4", nil}} {
		got, err := untouched(strings.NewReader(of(c.anonymous, c.swap)), []string{"/lib/a.so"})
		require.NoError(t, err)
		require.Equal(t, c.want, got, c)
	}
}

func TestReadOnly(t *testing.T) {
	files := []string{"/usr/lib/a b.so"}
	require.Equal(t, mapping{0x7f00, 0x80}, readOnly("7f00-7f80 r-xp 00001000 fe:00 1234                       /usr/lib/a b.so", files))
	for _, line := range []string{
		"", "/usr/lib/a b.so", "7f00-7f80 rw-p 00001000 fe:00 1234 /usr/lib/a b.so", "7f00-7f80 r-xp 00001000 fe:00 1234 /usr/lib/b.so",
		"7f00-7f80 r-xp 00000000 00:00 0", "7f00-7f80 r-xp 00000000 00:00 0 [vdso]", "x-7f80 r-xp 0 fe:00 1 /usr/lib/a b.so", "7f80-7f00 r-xp 0 fe:00 1 /usr/lib/a b.so",
	} {
		require.Zero(t, readOnly(line, files), line)
	}
}

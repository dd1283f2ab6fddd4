package e2e

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lostLimit is how much of a wait is granted at most, whatever others took of the machine.
const lostLimit = 3 * time.Second

// hz is how many ticks of the files in /proc a second has.
const hz = 100

// machine remembers how much processor time went to others: neither to this test nor to what it started, Fermata first of all.
// Where there is no /proc, others had none.
type machine struct {
	own   []int // this test, what it started, and so on
	notes []note
}

type note struct {
	at     time.Time
	others time.Duration
}

// newMachine finds the processes that are our own: those started later count as others.
func newMachine(t *testing.T) *machine {
	t.Helper()
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if f := fields(pid); f != nil {
				children[int(f[1])] = append(children[int(f[1])], pid)
			}
		}
	}
	m := &machine{own: []int{os.Getpid()}}
	for i := 0; i < len(m.own); i++ {
		m.own = append(m.own, children[m.own[i]]...)
	}
	if entries != nil {
		require.Greater(t, len(m.own), 2, "Fermata and its engine are processes of this test")
	}
	m.note()
	return m
}

// fields are the numbers behind the name of a process in /proc/<pid>/stat, whose state is none and comes as 0; none where it is gone.
func fields(pid int) []int64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, ok := bytes.Cut(b[max(bytes.LastIndexByte(b, ')'), 0):], []byte(") "))
	if !ok {
		return nil
	}
	var out []int64
	for f := range strings.FieldsSeq(string(rest)) {
		n, _ := strconv.ParseInt(f, 10, 64)
		out = append(out, n)
	}
	return out
}

// note reads how much there was until now.
func (m *machine) note() {
	n := note{at: time.Now()}
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	var ticks int64
	// user nice system idle iowait irq softirq steal; the guests' time behind them is in user and nice already.
	for i, f := range strings.Fields(line) {
		if i > 0 && i != 4 && i != 5 && i < 9 {
			v, _ := strconv.ParseInt(f, 10, 64)
			ticks += v
		}
	}
	for _, pid := range m.own {
		if f := fields(pid); f != nil {
			ticks -= f[11] + f[12] // utime, stime
		}
	}
	n.others = time.Duration(ticks) * time.Second / hz
	m.notes = append(m.notes, n)
}

// lost is how long the machine was with others from then until the last note: their processor time by the number of processors.
func (m *machine) lost(then time.Time) time.Duration {
	first := m.notes[0]
	for _, n := range m.notes {
		if !n.at.After(then) {
			first = n
		}
	}
	others := m.notes[len(m.notes)-1].others - first.others
	return min(max(others/time.Duration(runtime.NumCPU()), 0), lostLimit)
}

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

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// lostLimit is how much of a wait is granted at most, whatever others took of the machine.
const lostLimit = 3 * time.Second

// hz is how many ticks of /proc/stat a second has.
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
			if p, ok := parent(pid); ok {
				children[p] = append(children[p], pid)
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

// parent returns which process started one; false where it is gone.
func parent(pid int) (int, bool) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // behind the name: state, parent
	if len(f) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(string(f[1]))
	return n, err == nil
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
	n.others = time.Duration(ticks) * time.Second / hz
	for _, pid := range m.own {
		n.others -= time.Duration(ingestbench.CPU(pid) * float64(time.Second))
	}
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

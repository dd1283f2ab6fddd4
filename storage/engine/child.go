package engine

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/fermata-io/fermata/internal/resident"
)

// childEnv marks the process that is to load the engine. The command word "engine-child" is there for ps only.
const (
	childEnv     = "FERMATA_ENGINE_CHILD"
	childCommand = "engine-child"
)

// Exit statuses of the child.
const (
	exitEnded  = 0 // the start-up query was cancelled: a clean stop
	exitFailed = 1
	exitUsage  = 2
	exitOrphan = 3 // the parent is gone
)

// MaybeRunChild turns this process into the engine when it was started as such by [Start], and then never
// returns; otherwise it returns at once. Call it first in main, and in TestMain of tests that start the engine.
func MaybeRunChild() {
	if os.Getenv(childEnv) == "" {
		return
	}
	os.Exit(runChild(os.Args[1:]))
}

// runChild loads the library named by args[1] and runs it with the arguments after it.
func runChild(args []string) int {
	if len(args) < 2 || args[0] != childCommand {
		fmt.Fprintf(os.Stderr, "%s is set, but the arguments are not those of the engine\n", childEnv)
		return exitUsage
	}
	debug.SetGCPercent(-1) // nothing is allocated from here on; the collector's threads have no business here
	parent, leave, err := replaceStdin()
	if err != nil {
		fmt.Fprintf(os.Stderr, "start engine: %v\n", err)
		return exitFailed
	}
	go watchParent(parent, leave)
	lib, err := purego.Dlopen(args[1], purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		fmt.Fprintf(os.Stderr, "load engine: %v\n", err)
		return exitFailed
	}
	if _, err := purego.Dlsym(lib, entryPoint); err != nil {
		fmt.Fprintf(os.Stderr, "load engine: %s has no %s: not a libchdb this program knows\n", args[1], entryPoint)
		return exitFailed
	}
	var query func(argc int, argv unsafe.Pointer) *result
	purego.RegisterLibFunc(&query, lib, entryPoint)

	go giveBack(args[1])

	argv := append([]string{"clickhouse"}, args[2:]...)
	bufs := make([][]byte, len(argv))
	ptrs := make([]*byte, len(argv)+1) // ends with a nil, as C wants
	for i, a := range argv {
		bufs[i] = append([]byte(a), 0)
		ptrs[i] = &bufs[i][0]
	}
	res := query(len(argv), unsafe.Pointer(&ptrs[0])) //nolint:gosec // argv as C wants it
	runtime.KeepAlive(bufs)
	runtime.KeepAlive(ptrs)
	if res != nil && res.err != nil {
		fmt.Fprintf(os.Stderr, "engine: %s\n", cString(res.err))
		return exitFailed
	}
	return exitEnded
}

// watchParent waits for the parent's byte, which asks for a clean end, or for the end of the pipe: the parent is gone.
// The kernel sends SIGKILL then as well (Pdeathsig); this is for the window before that is armed. os.Exit does not run
// the library's destructors: to ClickHouse this is a crash, and what it acknowledged survives one.
func watchParent(parent *os.File, leave func()) {
	if n, _ := parent.Read(make([]byte, 1)); n > 0 {
		go leave()
	}
	_, _ = io.Copy(io.Discard, parent)
	os.Exit(exitOrphan)
}

// giveBack keeps of the library's pages only those that are in use once starting up has surely ended, and again where loading tables
// took longer. Not for ever: it allocates, and nothing is collected here.
func giveBack(lib string) {
	for _, pause := range []time.Duration{5 * time.Second, time.Minute} {
		time.Sleep(pause)
		_ = resident.GiveBack(lib) // nothing depends on it
	}
}

const entryPoint = "query_stable_v2"

// result is libchdb's local_result_v2, of which only the error matters here.
type result struct {
	_   *byte          // buf
	_   uintptr        // len
	_   unsafe.Pointer // vector
	_   float64        // seconds
	_   uint64         // rows
	_   uint64         // bytes
	err *byte          // C string; nil: none
}

func cString(p *byte) string {
	const most = 4096
	n := 0
	for n < most && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 { //nolint:gosec // ends with a 0
		n++
	}
	return unsafe.String(p, n) //nolint:gosec // measured above
}

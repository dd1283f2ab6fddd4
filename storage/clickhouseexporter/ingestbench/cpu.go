package ingestbench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func named(name string, v any) driver.NamedValue { return clickhouse.Named(name, v) }

// ticksPerSecond is Linux's USER_HZ, the unit of /proc/PID/stat; it is 100 on every architecture Go runs on.
const ticksPerSecond = 100

// CPU returns the CPU seconds that a process has used, user and system; 0 when it can't be read.
func CPU(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from field 3 on
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(string(fields[11]), 64)
	system, _ := strconv.ParseFloat(string(fields[12]), 64)
	return (user + system) / ticksPerSecond
}

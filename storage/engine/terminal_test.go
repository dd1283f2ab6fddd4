package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// terminalEnv makes the test binary write far more to the child's terminal than a terminal holds.
const terminalEnv = "FERMATA_TEST_ENGINE_TERMINAL"

// writeToTerminal is the process that terminalEnv asks for. It has standard input replaced, so it is one of its own.
func writeToTerminal() int {
	_, _, err := replaceStdin()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	line := bytes.Repeat([]byte{'.'}, 77)
	for range 1 << 14 {
		if _, err := os.Stdin.Write(line); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// What the engine writes to its terminal goes somewhere: when it did not, two minutes of progress filled the terminal, and
// the main thread hung in write and could not be stopped.
func TestTerminalNeverFills(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the engine gets a terminal on Linux only")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), terminalEnv+"=1")
	stdin, err := cmd.StdinPipe() // a parent that is there
	require.NoError(t, err)
	defer func() { _ = stdin.Close() }()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

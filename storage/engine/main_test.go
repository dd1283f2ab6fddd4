package engine

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// parentEnv makes the test binary a program that runs an engine in the folder it names, for tests that kill one.
const parentEnv = "FERMATA_TEST_ENGINE_PARENT"

func TestMain(m *testing.M) {
	MaybeRunChild()
	if os.Getenv(terminalEnv) != "" {
		os.Exit(writeToTerminal())
	}
	if dir := os.Getenv(parentEnv); dir != "" {
		e, err := Start(context.Background(), NewDefaultConfig(dir), zap.NewNop())
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready", e.PID(), e.DSN(""))
		select {}
	}
	goleak.VerifyTestMain(m)
}

package clocks_test

import (
	"testing"

	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

package higress

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/receivers/adapters/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var adapter = adaptertest.Adapter{Recognize: Recognize, One: One, Other: ErrOtherCall}

func TestGolden(t *testing.T) { adaptertest.Golden(t, adapter) }

func FuzzOne(f *testing.F) { adaptertest.Fuzz(f, adapter) }

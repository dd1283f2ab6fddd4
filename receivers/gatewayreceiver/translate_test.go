package gatewayreceiver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/internal/wire/schema"
)

func TestGolden(t *testing.T) {
	ingesttest.Golden(t, decodeGateway, nil, schema.Gateway())
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(native1), false)
	f.Add([]byte(`[{"call_type":"acompletion","startTime":1760000000.5,"stream":true,"id":"x"},`+native1+`]`), true)
	f.Add([]byte("{\"standard_logging_object\":{\"call_type\":\"x\",\"startTime\":1}}\n{}\n"), false)
	f.Fuzz(func(t *testing.T, body []byte, own bool) {
		opt := wire.NewDefaultDecodeOptions()
		opt.Now = ingesttest.Now
		b := ingest.NewBatch(ingesttest.Now, false)
		if own {
			decodeFormat(&formats[0])(nil, body, opt, b)
		} else {
			decodeGateway(nil, body, opt, b)
		}
		require.GreaterOrEqual(t, b.Logs().LogRecordCount(), b.Answer().Accepted)
		for _, rl := range b.Logs().ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				if lr.EventName() != streamlog.EventGateway {
					continue
				}
				g, err := streamlog.Gateway(lr, opt.Limits.MaxChunks)
				require.NoError(t, err)
				require.NoError(t, g.Validate(ingesttest.Now, opt.Limits))
			}
		}
	})
}

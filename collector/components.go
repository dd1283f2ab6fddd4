package collector

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/api/apiextension"
	"github.com/fermata-io/fermata/collector/ingestextension"
	"github.com/fermata-io/fermata/feedback/joiner"
	"github.com/fermata-io/fermata/feedback/rollup"
	"github.com/fermata-io/fermata/processors/groupcommitprocessor"
	"github.com/fermata-io/fermata/processors/streamprocessor"
	"github.com/fermata-io/fermata/receivers/chunkreceiver"
	"github.com/fermata-io/fermata/receivers/gatewayreceiver"
	"github.com/fermata-io/fermata/receivers/rumreceiver"
	"github.com/fermata-io/fermata/storage/clickhouseexporter"
)

// components is everything the binary can be configured to run. Components that listen are remembered in addrs; checks
// are added to /readyz.
func components(addrs *addresses, checks ...api.ReadyCheck) (otelcol.Factories, error) {
	var f otelcol.Factories
	var err error
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](
		addrs.extension(apiextension.NewFactory(pages(addrs), checks...)),
		addrs.extension(ingestextension.NewFactory()),
		joiner.NewFactory(),
		rollup.NewFactory(),
		filestorage.NewFactory(),
	); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](
		addrs.receiver(chunkreceiver.NewFactory()),
		gatewayreceiver.NewFactory(),
		rumreceiver.NewFactory(),
	); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](
		streamprocessor.NewFactory(),
		groupcommitprocessor.NewFactory(),
		batchprocessor.NewFactory(),
		memorylimiterprocessor.NewFactory(),
	); err != nil {
		return f, err
	}
	if f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](
		clickhouseexporter.NewFactory(),
		otlpexporter.NewFactory(),
		otlphttpexporter.NewFactory(),
		debugexporter.NewFactory(),
	); err != nil {
		return f, err
	}
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, nil
}

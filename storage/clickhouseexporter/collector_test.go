package clickhouseexporter

const collectorEnv = "FERMATA_TEST_COLLECTOR"

func runTestCollector(string) {}

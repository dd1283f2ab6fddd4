package clickhouse

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tls completes what the DSN says (secure, skip_verify) by the files of the configuration; nil: no TLS.
func (c *Config) tls(fromDSN *tls.Config) (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" {
		return fromDSN, nil
	}
	cfg := fromDSN
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.MinVersion = tls.VersionTLS12
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file: %s holds no PEM certificate", c.CAFile)
		}
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert_file, key_file: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

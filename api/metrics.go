package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// maxMetrics bounds what is taken from the Collector's metrics endpoint.
const maxMetrics = 8 << 20

// metrics counts this API's requests and serves Prometheus text.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	up       prometheus.Gauge
	url      string
	client   *http.Client
}

func newMetrics(url string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fermata_api_requests_total", Help: "Requests to the read API.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fermata_api_request_duration_seconds", Help: "Time to answer a request to the read API.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		url: url,
	}
	m.registry.MustRegister(m.requests, m.seconds)
	if url != "" {
		m.up = prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fermata_api_collector_metrics_up", Help: "1 when the Collector's own metrics could be read for this scrape.",
		})
		m.registry.MustRegister(m.up)
		m.client = &http.Client{Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute}, Timeout: 5 * time.Second}
	}
	return m
}

func (m *metrics) close() {
	if m.client != nil {
		m.client.CloseIdleConnections()
	}
}

// observe counts each request under its route; unknown paths share one label.
func (m *metrics) observe(c *gin.Context) {
	began := time.Now()
	defer func() {
		route := c.FullPath()
		if route == "" {
			route = "other"
		}
		m.requests.WithLabelValues(route, itoa(c.Writer.Status())).Inc()
		m.seconds.WithLabelValues(route).Observe(time.Since(began).Seconds())
	}()
	c.Next()
}

func (m *metrics) serve(c *gin.Context) {
	var collector []byte
	if m.url != "" {
		body, err := m.collector(c.Request.Context())
		if err != nil {
			_ = c.Error(err)
			m.up.Set(0)
		} else {
			m.up.Set(1)
			collector = body
		}
	}
	families, err := m.registry.Gather()
	if err != nil {
		_ = c.Error(fmt.Errorf("gather metrics: %w", err))
		write(c, problem(http.StatusInternalServerError, "metrics can't be gathered"))
		return
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			write(c, problem(http.StatusInternalServerError, "metrics can't be written"))
			return
		}
	}
	out.Write(collector)
	c.Data(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", out.Bytes())
}

// collector reads the Collector's own metrics.
func (m *metrics) collector(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("collector metrics: %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetrics+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxMetrics {
		return nil, fmt.Errorf("collector metrics: larger than %d bytes", maxMetrics)
	}
	return body, nil
}

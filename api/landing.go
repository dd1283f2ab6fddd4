package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

//go:embed landing.html.tmpl
var landingSource string

//go:embed landing.css
var landingStyle string

var landingPage = template.Must(template.New("landing").Funcs(template.FuncMap{
	"ms": milliseconds, "at": func(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05") },
	"text": func(s *string) string {
		if s == nil {
			return "–"
		}
		return *s
	},
	"count": func(n *int64) string {
		if n == nil {
			return "–"
		}
		return fmt.Sprint(*n)
	},
	"path": url.PathEscape,
}).Parse(landingSource))

// landingPolicy allows the page its own style and nothing else.
var landingPolicy = func() string {
	sum := sha256.Sum256([]byte(landingStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

const (
	landingRows   = 20
	landingWindow = 24 * time.Hour
)

func milliseconds(us *int64) string {
	switch {
	case us == nil:
		return "–"
	case *us >= 999_500:
		return fmt.Sprintf("%.2f s", float64(*us)/1e6)
	case *us >= 100_000:
		return fmt.Sprintf("%d ms", (*us+500)/1000)
	default:
		return fmt.Sprintf("%.1f ms", float64(*us)/1000)
	}
}

// landing shows what there is and the latest requests, without any script.
func (s *Server) landing(c *gin.Context) {
	data := struct {
		Style      template.CSS
		Version    string
		Tenant     string
		Pages      string
		Playground string
		Requests   []requests.Summary
		Problem    string
	}{
		Style: template.CSS(landingStyle), Version: s.opt.Version, Tenant: wire.DefaultTenant, //nolint:gosec // our own file
		Pages: s.opt.RequestPages, Playground: s.opt.Playground,
	}
	if t := c.Query("tenant"); t != "" && wire.ValidID(t) {
		data.Tenant = t
	}
	now := s.now()
	page, err := s.opt.Requests.List(c.Request.Context(), requests.Filter{
		Tenant: data.Tenant, Since: now.Add(-landingWindow), Until: now.Add(clockAhead), Limit: landingRows,
	})
	if err != nil {
		p, _ := problemOf(err)
		data.Problem = strings.TrimSpace(*p.Detail)
		s.log.Warn("query failed", zap.String("route", "/"), zap.Error(err))
	} else {
		data.Requests = page.Requests
	}
	var out bytes.Buffer
	if err := landingPage.Execute(&out, data); err != nil {
		_ = c.Error(err)
		write(c, problem(http.StatusInternalServerError, "the page can't be written"))
		return
	}
	c.Header("Content-Security-Policy", landingPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", out.Bytes())
}

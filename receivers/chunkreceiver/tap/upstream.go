package tap

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/llmstream"
)

// upstream is one configured server.
type upstream struct {
	name       string
	cfg        Upstream
	base       *url.URL
	deployment string
	transport  *http.Transport
	proxy      httputil.ReverseProxy // to be copied for each request, which brings its own buffer
}

// newTransport makes connections to one upstream. It waits as long for an answer as the client does: the time
// to the first byte of an LLM has no bound that a proxy could know.
func newTransport(u *url.URL) *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: 5 * time.Second,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,    // what the client asks for is what it gets
		WriteBufferSize:       2 << 10, // a running stream keeps it, and needs it no more
	}
	p := new(http.Protocols)
	switch u.Scheme {
	case "h2c":
		p.SetUnencryptedHTTP2(true)
	default:
		p.SetHTTP1(true)
		p.SetHTTP2(true)
	}
	t.Protocols = p
	return t
}

// target is the URL of a request at the upstream; path is what follows the upstream's name.
func (u *upstream) target(in *url.URL, path, rawPath string) *url.URL {
	out := *in
	out.Scheme, out.Host, out.User = u.base.Scheme, u.base.Host, nil
	if out.Scheme == "h2c" {
		out.Scheme = "http"
	}
	out.Path, out.RawPath = path, rawPath
	if base := strings.TrimRight(u.base.Path, "/"); base != "" {
		out.RawPath = strings.TrimRight(u.base.EscapedPath(), "/") + escaped(path, rawPath)
		out.Path = base + path
	}
	return &out
}

func escaped(path, rawPath string) string {
	return (&url.URL{Path: path, RawPath: rawPath}).EscapedPath()
}

// hostProviders tells well-known services by their host's end.
var hostProviders = [...]struct{ suffix, provider string }{
	{"api.openai.com", "openai"},
	{"openai.azure.com", "azure.ai.openai"},
	{"api.anthropic.com", "anthropic"},
	{"generativelanguage.googleapis.com", "gcp.gemini"},
	{"aiplatform.googleapis.com", "gcp.vertex_ai"},
	{"api.groq.com", "groq"},
	{"api.mistral.ai", "mistral_ai"},
	{"api.deepseek.com", "deepseek"},
	{"api.x.ai", "x_ai"},
	{"api.cohere.com", "cohere"},
	{"api.perplexity.ai", "perplexity"},
	{"api.together.xyz", "together"},
	{"openrouter.ai", "openrouter"},
}

// provider guesses who serves the upstream: by its host, by what the answer says of its server, else by dialect.
func (u *upstream) provider(i *llmstream.Info) string {
	host := strings.ToLower(u.base.Hostname())
	for _, h := range hostProviders {
		if host == h.suffix || strings.HasSuffix(host, "."+h.suffix) {
			return h.provider
		}
	}
	switch {
	case strings.HasPrefix(i.Fingerprint, "demo-"):
		return "demo"
	case strings.HasPrefix(i.Fingerprint, "vllm-"):
		return "vllm"
	}
	switch i.Dialect {
	case llmstream.DialectAnthropic:
		return "anthropic"
	case llmstream.DialectGemini:
		return "gcp.gemini"
	case llmstream.DialectOllama:
		return "ollama"
	case llmstream.DialectTGI:
		return "tgi"
	case llmstream.DialectLlamaCpp:
		return "llama.cpp"
	case llmstream.DialectOpenAIChat, llmstream.DialectOpenAICompletions, llmstream.DialectOpenAIResponses, llmstream.DialectOpenAIRealtime:
		return "openai_compatible"
	}
	return ""
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &cert) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &alert)
}

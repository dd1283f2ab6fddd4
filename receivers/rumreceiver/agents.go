package rumreceiver

import (
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/mileusna/useragent"
)

const (
	maxAgent   = 512  // bytes of a User-Agent header that is looked at
	keepAgents = 4096 // headers remembered, since few browsers make most of the beacons
)

// agent is what a User-Agent header tells.
type agent struct {
	browser, os, device string // empty where it names no browser
	bot                 bool   // a program that says so
}

// agents reads User-Agent headers.
type agents struct {
	drop []string // parts of headers that make a bot, lower case
	seen *lru.Cache[string, agent]
}

// botWords are what crawlers, previews and checkers call themselves. HeadlessChrome is not among them: tests and synthetic
// users are users, unless the configuration says otherwise.
var botWords = []string{
	"bot/", "bot;", "bot-", "-bot", "_bot", "crawler", "spider", "slurp", "facebookexternalhit", "mediapartners-google",
	"google-inspectiontool", "chrome-lighthouse", "ptst/",
}

func newAgents(c BotsConfig) (*agents, error) {
	a := &agents{}
	if c.Drop {
		a.drop = append(a.drop, botWords...)
		for _, s := range c.UserAgents {
			a.drop = append(a.drop, strings.ToLower(s))
		}
	}
	var err error
	a.seen, err = lru.New[string, agent](keepAgents)
	return a, err
}

// read returns what header tells; nothing where it is too long to be a browser's.
func (a *agents) read(header string) agent {
	if header == "" || len(header) > maxAgent {
		return agent{}
	}
	if known, ok := a.seen.Get(header); ok {
		return known
	}
	out := a.parse(header)
	a.seen.Add(strings.Clone(header), out)
	return out
}

func (a *agents) parse(header string) (out agent) {
	ua := useragent.Parse(header)
	lower := strings.ToLower(header)
	for _, word := range a.drop {
		out.bot = out.bot || strings.Contains(lower, word)
	}
	out.bot = out.bot || (len(a.drop) > 0 && ua.Bot && ua.Name != useragent.HeadlessChrome)
	switch {
	case ua.Bot:
		out.device = "bot"
	case ua.Tablet:
		out.device = "tablet"
	case ua.Mobile:
		out.device = "mobile"
	case ua.Desktop:
		out.device = "desktop"
	default: // a program: its name may be anything
		return out
	}
	out.os = strings.ToValidUTF8(ua.OS, "")
	if out.browser = strings.ToValidUTF8(ua.Name, ""); ua.VersionNo.Major > 0 {
		out.browser += " " + strconv.Itoa(ua.VersionNo.Major)
	}
	return out
}

package demo

import (
	"math/rand/v2"
	"strings"
)

// The parts that sentences are made of. Each is used once before any is used again, so that an answer of usual
// length has no repeats to speak of.
var (
	people = []string{
		"the harbour pilot", "an old clockmaker", "the night gardener", "a travelling cellist", "the bridge keeper",
		"her younger brother", "the baker's apprentice", "a retired surveyor", "the lighthouse crew", "my neighbour",
		"the choir director", "a patient librarian", "the ferry captain", "an amateur astronomer", "the tram conductor",
		"a glassblower from the valley", "the beekeeper", "a stage carpenter", "the village doctor", "two students",
		"the map restorer", "a radio engineer", "the orchard owner", "a quiet weaver",
	}
	deeds = []string{
		"kept a careful record of", "slowly took apart", "argued all evening about", "painted a small picture of",
		"never quite understood", "carried home", "rebuilt from memory", "left a note beside", "listened closely to",
		"measured twice", "sold for almost nothing", "found in the cellar", "walked half the night with", "waited for",
		"wrote a long letter about", "could not stop laughing at", "hid behind the stove", "explained to the children",
		"traded for a bicycle", "photographed", "repaired without being asked", "dreamt again of", "borrowed", "forgot",
	}
	things = []string{
		"a brass metronome", "the winter tide tables", "three unmarked keys", "an unfinished symphony", "the smallest of the boats",
		"a jar of river sand", "the broken weather vane", "a ledger bound in green cloth", "the echo under the arches",
		"a lamp that burned without a flicker", "the last train timetable", "a map with no north", "the sound of distant rain",
		"a basket of early apples", "the shadow of the water tower", "a drum with a single skin", "an argument from the spring before",
		"the smell of fresh varnish", "a pair of mended gloves", "the long rest in the second movement", "a telescope made of tin",
		"the frost on the inside of the window", "a recipe written in pencil", "the silence between two bells",
	}
	settings = []string{
		"before the fog had lifted", "in the year of the great flood", "on the far side of the square", "just after midnight",
		"while the kettle sang", "against all advice", "under a sky the colour of slate", "with the door wide open",
		"on the first warm day of March", "between the second and third verse", "at the end of a long corridor",
		"when the market had closed", "without a word to anyone", "as the snow began again", "in a borrowed coat",
		"by the light of a single window", "far from the sea", "during the slow part of the afternoon",
		"the week before the concert", "with one hand on the rail", "in the hour when the trams stop", "after the second bell",
	}
	turns = []string{
		"Nobody had expected that.", "It was, in its way, a beginning.", "There is a simple reason for it.", "That changed everything.",
		"Some say it was chance.", "The rest is easy to guess.", "Even so, the evening went on.", "It took a while to notice.",
		"Then came the difficult part.", "What followed was quieter.", "Not every pause is a mistake.", "The details matter here.",
		"Later, the story was told differently.", "A held note says more than a fast one.", "One could hear the difference.", "So they tried again.",
	}
	links = []string{"Meanwhile,", "Years later,", "In truth,", "For a moment,", "Oddly enough,", "By then,", "As it happened,", "Still,", "Each morning,", "From the window,"}
)

// deck deals the entries of a list in random order and starts over when all are dealt.
type deck struct {
	list  []string
	order []int
	rng   *rand.Rand
}

func (d *deck) deal() string {
	if len(d.order) == 0 {
		d.order = d.rng.Perm(len(d.list))
	}
	s := d.list[d.order[0]]
	d.order = d.order[1:]
	return s
}

// prose writes sentences without end.
type prose struct {
	rng                                           *rand.Rand
	people, deeds, things, settings, turns, links deck
	sentences                                     int
}

func newProse(rng *rand.Rand) *prose {
	d := func(list []string) deck { return deck{list: list, rng: rng} }
	return &prose{rng: rng, people: d(people), deeds: d(deeds), things: d(things), settings: d(settings), turns: d(turns), links: d(links)}
}

// sentence returns the next one, with the space or paragraph break that comes before it.
func (p *prose) sentence() string {
	lead := " "
	switch {
	case p.sentences == 0:
		lead = ""
	case p.sentences%5 == 0:
		lead = "\n\n"
	}
	p.sentences++
	core := func() string { return p.people.deal() + " " + p.deeds.deal() + " " + p.things.deal() }
	var s string
	switch p.rng.IntN(6) {
	case 0:
		s = p.turns.deal()
	case 1:
		s = p.links.deal() + " " + core() + "."
	case 2:
		s = capital(p.settings.deal()) + ", " + core() + "."
	case 3:
		s = capital(core()) + " " + p.settings.deal() + "."
	case 4:
		s = capital(core()) + ", and " + core() + "."
	default:
		s = capital(core()) + ", though " + p.people.deal() + " would have chosen " + p.things.deal() + "."
	}
	return lead + s
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// tokens cuts text as a tokenizer roughly does: words with the space before them, long ones in two, punctuation
// apart. Joined they are the text again.
func tokens(text string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, text[start:end])
			start = end
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			if i > 0 && text[i-1] != '\n' {
				cut(i)
			}
		case c == ' ':
			cut(i)
		case c == '.' || c == ',':
			cut(i)
		case i-start > 8 && i+3 < len(text) && letter(c) && letter(text[i+1]) && letter(text[i+2]):
			cut(i)
		case i > 0 && text[i-1] == '\n':
			cut(i)
		}
	}
	cut(len(text))
	return out
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

package simulate

import (
	"math/rand/v2"
	"strings"
)

// script writes sentences that never repeat: a lexicon made from syllables, and how words and sentences are joined.
type script struct {
	name  string
	words []string
	space string
	stop  string
}

// syllables of made words, by script. Han and kana need none: their characters are words.
var syllables = []struct{ name, space, stop, parts string }{
	{"latin", " ", ". ", "ba be bi bo da de di do fa fe ga go ka ke ko la le li lo lu ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vi wa we ya zo"},
	{"cyrillic", " ", ". ", "ба бе го ди да жи за зе ка ко ла ле ли ло ма ми мо на не но па по ра ре ро са се та те то фа ху ца че ша щу я ю"},
	{"greek", " ", ". ", "βα βε γα γο δα δε ζω θα θε κα κο λα λε λο μα με μο να νε νο πα πο ρα ρε σα σε τα τε το φα χα ψυ"},
	{"arabic", " ", ". ", "با تا ثو جي حا خو دا ذي را زي سا شو صا ضي طا عي غا فو قا كي لا مو نا هي وا يو"},
	{"hebrew", " ", ". ", "בא גו דה הו זי חו טא יו כה לו מי נה סו עי פא צו קה רו שי תו"},
	{"devanagari", " ", "। ", "का खी गु चा जो टा तो दी ना पो बा भी मा यो रा लो वा शी सा हो"},
	{"hangul", " ", ". ", "가 나 다 라 마 바 사 아 자 차 카 타 파 하 거 너 더 러 머 버 서 어 저 고 노 도 로 모 보 소 오 조 구 누 두 루 무 부 수 우 주 기 니 디 리 미 비 시 이 지"},
	{"thai", "", " ", "กา ขอ คำ งา จิ ชา ดี ตา ทำ นา บอ ปา พอ มา ยา รา ลา วา สา หา อา"},
}

const (
	hanSigns  = "山水火木土日月星風雨花草人口手目耳心力車門書話語文字名年時間天地上下左右前後東西南北大小高長多少新古白黒青赤金銀町村市道川海空気电灯城市学生老师朋友工作生活音乐图画历史问题方法世界国家社会经济技术"
	kanaSigns = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわ"
)

var scripts = makeScripts()

// makeScripts builds the lexicons; they are the same in every run.
func makeScripts() []script {
	r := rand.New(rand.NewPCG(20_26, 11)) //nolint:gosec // a lexicon, no secret
	out := []script{english()}
	for _, s := range syllables {
		parts := strings.Fields(s.parts)
		seen := map[string]bool{}
		var words []string
		for len(words) < 700 {
			var b strings.Builder
			for range 1 + r.IntN(4) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			if w := b.String(); !seen[w] {
				seen[w] = true
				words = append(words, w)
			}
		}
		out = append(out, script{s.name, words, s.space, s.stop})
	}
	for _, s := range []struct{ name, signs, stop string }{{"han", hanSigns, "。"}, {"kana", kanaSigns, "。"}} {
		signs := []rune(s.signs)
		var words []string
		for range 500 {
			w := make([]rune, 1+r.IntN(3))
			for i := range w {
				w[i] = signs[r.IntN(len(signs))]
			}
			words = append(words, string(w))
		}
		out = append(out, script{s.name, words, "", s.stop})
	}
	return out
}

// english is a script of real words, for most of the traffic.
func english() script {
	const list = `the a this that each every some many their our its one another several few
amber bridge cabin delta engine ferry garden harbour island journal kettle ladder market needle orchard pillar quarry river saddle timber
valley window anchor basket candle drawer ember fabric gravel hammer insect jacket kernel lantern mirror nectar oyster parcel quilt ribbon
signal tunnel uncle velvet wagon yard zinc answer border circle degree effort figure ground height income junction keeper letter method number
object person reason source theory unit version weight example detail measure pattern process record result sample season surface system
carries follows shows holds turns moves keeps gives takes leaves brings finds reads writes counts joins lifts opens closes answers needs
reaches passes covers builds meets serves sends makes asks waits grows draws feeds guides marks
quiet narrow early broad gentle rapid solid hollow distant common formal gradual honest idle joint keen level modest neat open plain quick
rough simple steady thin upper vivid warm young bitter clever daily eager fresh green
slowly often seldom nearly almost again today together apart perhaps mostly hardly soon once later
under over beside without between across behind toward against along through around before after during within beyond near inside outside
and but or while because since although unless until where when which
from into with for about by on at in of to`
	return script{"english", strings.Fields(list), " ", ". "}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// words joins n random words.
func (s *script) some(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(s.space)
		}
		b.WriteString(pick(r, s.words))
	}
	return b.String()
}

// sentence makes a sentence of 6 to 15 words with its full stop and what follows it.
func (s *script) sentence(r *rand.Rand) string {
	t := s.some(r, 6+r.IntN(10))
	if s.name == "english" || s.name == "latin" {
		t = strings.ToUpper(t[:1]) + t[1:]
	}
	return t + s.stop
}

// paragraph makes n sentences.
func (s *script) paragraph(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(s.sentence(r))
	}
	return strings.TrimRight(b.String(), " ")
}

// prose makes paragraphs of at least n characters.
func (s *script) prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for chars(b.String()) < n {
		b.WriteString(s.paragraph(r, 2+r.IntN(5)))
		b.WriteString("\n\n")
	}
	return b.String()
}

func chars(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}

// scriptOf draws a script: English three times out of five.
func scriptOf(r *rand.Rand) *script {
	if r.IntN(5) < 3 {
		return &scripts[0]
	}
	return &scripts[1+r.IntN(len(scripts)-1)]
}

package corpus

import (
	"math/rand/v2"
	"strings"
)

// Filler words of several scripts, for sentences that say little and seldom repeat.
var (
	subjects = strings.Split("the harbour clerk|a retired surveyor|the night shift|our archive|an old cartographer|the ferry crew|a quiet baker|the water board|two apprentices|the choir|a lighthouse keeper|the orchard owner|my neighbour|the bridge team|a careful editor|the museum|one student|the court|their engineer|a small committee", "|")
	verbs    = strings.Split("counted|measured|borrowed|described|weighed|compared|repaired|sold|painted|moved|washed|tested|copied|found|kept|opened|closed|carried|drew|ordered", "|")
	objects  = strings.Split("seven clay tiles|the northern ledger|a crate of lenses|the station clock|nine copper valves|every second page|the long corridor|two spare rotors|the orchard maps|a box of letters|the upper terrace|three old doors|the winter coats|a brass bell|the wooden stairs|some green bottles|the last report|a row of chairs|the narrow boat|five iron keys", "|")
	tails    = strings.Split("by candlelight|after a short argument|on a quiet Thursday|at the edge of town|for a modest fee|while nobody watched|under a grey lamp|in the back room|with unusual care|before the rain came|to settle a bet|without a word|near the old mill|during the fair|once more|in early spring|against all advice|with two friends|over several weeks|for the third year", "|")

	hanUnits   = strings.Split("海边的小城有三座灯塔，|每座都由一位老人看守。|春天渔船出港，|秋天货船回来，|街上总有盐的味道。|城里的学校建在山坡上，|孩子们能望见整个海湾。|市场每天早上开门，|人们买鱼和蔬菜。|冬天的风很大，|夜里很安静。|图书馆有很多旧书，|老师喜欢讲历史。|火车站离港口不远，|旅客常常迷路。|河水流过石桥，|桥下有几只小船。|节日里大家放灯，|灯光映在水面上。|医生住在村口，", "|")
	kanaUnits  = strings.Split("昔々、小さな村に|古い時計台がありました。|毎朝、漁師は|港へ歩いて行きます。|子供たちは丘の上で|遊んでいました。|冬になると|雪が静かに降ります。|先生は歴史の本を|読んでくれました。|駅の前には|大きな桜の木があります。", "|")
	hangul     = strings.Split("작은 마을에|오래된 시계탑이 있었다.|아침마다 어부는|항구로 걸어갔다.|아이들은 언덕에서|놀고 있었다.|겨울이 오면|눈이 조용히 내린다.|선생님은 역사책을|읽어 주었다.", "|")
	cyrillic   = strings.Split("старый сторож|считал медные клапаны|на тихой улице|и записывал в книгу|каждую вторую страницу|перед началом дождя|рыбаки вернулись|с полными сетями|учитель рассказывал|о далёких городах", "|")
	arabic     = strings.Split("كان الحارس القديم|يعد المفاتيح النحاسية|في شارع هادئ|ويكتب في الدفتر|كل صفحة ثانية|قبل أن ينزل المطر", "|")
	devanagari = strings.Split("पुराना पहरेदार|ताँबे की चाबियाँ|गिन रहा था|और किताब में|लिख रहा था|बारिश से पहले", "|")
	thai       = strings.Split("ชายชราเฝ้าประภาคาร|ริมทะเลทุกคืน|เรือประมงออกจากท่า|ในฤดูใบไม้ผลิ|เด็กเล่นบนเนินเขา", "|")
	emoji      = strings.Split("🌟|🎉|😀|🚀|🌈|🐱|🍎|🎵|💡|🔥|🌊|🏠", "|")
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// Sentence makes one sentence; there are 160 000 of them.
func Sentence(r *rand.Rand) string {
	s := pick(r, subjects) + " " + pick(r, verbs) + " " + pick(r, objects) + " " + pick(r, tails) + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

// Prose makes n sentences.
func Prose(r *rand.Rand, n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = Sentence(r)
	}
	return strings.Join(s, " ")
}

func row(r *rand.Rand, from []string, n int, sep string) string {
	s := make([]string, n)
	for i := range s {
		s[i] = pick(r, from)
	}
	return strings.Join(s, sep)
}

func letters(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

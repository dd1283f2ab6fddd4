package repetition_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/processors/repetition"
)

// inDigits writes a number in the digits that begin with zero.
func inDigits(n int, zero rune) string {
	return strings.Map(func(c rune) rune { return zero + c - '0' }, strconv.Itoa(n))
}

func counting(format string, zero rune) string {
	var b strings.Builder
	for i := range 60 {
		b.WriteString(strings.ReplaceAll(format, "#", inDigits(i+100, zero)))
	}
	return b.String()
}

// Digits of any script are digits: a sentence that changes only in its number is masked, not drifting.
func TestDigitsOfAnyScript(t *testing.T) {
	scripts := 0
	seen := func(zero rune) {
		scripts++
		p := play("Here it is. "+counting("We went to the harbour again on day # and saw nothing. ", zero), true, rand.New(rand.NewPCG(1, 11)))
		require.Len(t, p.list, 1, "%U", zero)
		require.Equal(t, repetition.Masked, p.list[0].Evidence.Match, "%U", zero)
	}
	for _, x := range unicode.Nd.R16 {
		for zero := rune(x.Lo); zero < rune(x.Hi); zero += 10 {
			seen(zero)
		}
	}
	for _, x := range unicode.Nd.R32 {
		for zero := rune(x.Lo); zero < rune(x.Hi); zero += 10 {
			seen(zero)
		}
	}
	require.Greater(t, scripts, 60)
}

// The same in the scripts' own words, with and without spaces between them.
func TestNumbersInTextOfTheirScript(t *testing.T) {
	for _, c := range []struct {
		name, sentence string
		zero           rune
	}{
		{"Arabic", "في اليوم # ذهبنا إلى الميناء مرة أخرى ولم نر شيئا. ", 0x660},
		{"Bengali", "# তারিখে আমরা আবার বন্দরে গিয়েছিলাম এবং কিছুই দেখিনি। ", 0x9e6},
		{"Burmese", "နေ့ရက် # တွင်ကျွန်ုပ်တို့သည်ဆိပ်ကမ်းသို့ထပ်မံသွားရောက်ခဲ့ပြီးဘာမျှမတွေ့ခဲ့ပါ။", 0x1040},
		{"Devanagari", "दिन # को हम फिर बंदरगाह गए और कुछ भी नहीं देखा। ", 0x966},
		{"Gujarati", "દિવસ # ના રોજ અમે ફરીથી બંદર પર ગયા અને કંઈ જોયું નહીં. ", 0xae6},
		{"Gurmukhi", "ਦਿਨ # ਨੂੰ ਅਸੀਂ ਫਿਰ ਬੰਦਰਗਾਹ ਗਏ ਅਤੇ ਕੁਝ ਨਹੀਂ ਦੇਖਿਆ। ", 0xa66},
		{"Kannada", "ದಿನ # ರಂದು ನಾವು ಮತ್ತೆ ಬಂದರಿಗೆ ಹೋದೆವು ಮತ್ತು ಏನನ್ನೂ ನೋಡಲಿಲ್ಲ. ", 0xce6},
		{"Khmer", "នៅថ្ងៃទី#យើងបានទៅកំពង់ផែម្តងទៀតហើយមិនបានឃើញអ្វីសោះ។", 0x17e0},
		{"Lao", "ໃນມື້ທີ#ພວກເຮົາໄດ້ໄປທ່າເຮືອອີກຄັ້ງແລະບໍ່ເຫັນຫຍັງເລີຍ", 0xed0},
		{"Malayalam", "ദിവസം # ന് ഞങ്ങൾ വീണ്ടും തുറമുഖത്തേക്ക് പോയി ഒന്നും കണ്ടില്ല. ", 0xd66},
		{"Tamil", "நாள் # அன்று நாங்கள் மீண்டும் துறைமுகம் சென்றோம் எதையும் காணவில்லை. ", 0xbe6},
		{"Telugu", "రోజు # న మేము మళ్ళీ ఓడరేవుకు వెళ్ళాము ఏమీ చూడలేదు. ", 0xc66},
		{"Thai", "ในวันที่#เราไปที่ท่าเรืออีกครั้งและไม่เห็นอะไรเลย", 0xe50},
		{"Tibetan", "ཉིན་#ལ་ང་ཚོ་ཡང་བསྐྱར་གྲུ་ཁར་སོང་ནས་གང་ཡང་མ་མཐོང་།", 0xf20},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(counting(c.sentence, c.zero), true, rand.New(rand.NewPCG(1, 12)))
			require.Len(t, p.list, 1)
			require.Equal(t, repetition.Masked, p.list[0].Evidence.Match)
		})
	}
}

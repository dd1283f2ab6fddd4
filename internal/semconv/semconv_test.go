package semconv

import "testing"

func TestEachKeyHasOneField(t *testing.T) {
	seen := map[string]Field{}
	for f := range FieldCount {
		for _, k := range Keys(f) {
			if other, ok := seen[k]; ok {
				t.Errorf("%s belongs to fields %d and %d", k, other, f)
			}
			seen[k] = f
		}
		if f != None && len(Keys(f)) == 0 {
			t.Errorf("field %d has no key", f)
		}
	}
}

func TestPreferredKeyWins(t *testing.T) {
	f, now := Lookup("gen_ai.usage.input_tokens")
	g, old := Lookup("gen_ai.usage.prompt_tokens")
	if f != InputTokens || g != InputTokens || now >= old {
		t.Fatalf("%d %d %d %d", f, g, now, old)
	}
	if f, _ := Lookup("http.method"); f != None {
		t.Fatalf("unknown key gave %d", f)
	}
}

func TestEveryChunkEventIsOwnOrGeneric(t *testing.T) {
	for _, n := range DefaultChunkEvents() {
		if FirstToken(n) || Done(n) {
			t.Errorf("%s has two meanings", n)
		}
	}
	if !OwnName("gen_ai.chunk") || OwnName("chunk") {
		t.Error("namespaces")
	}
}

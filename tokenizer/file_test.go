package tokenizer

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func tinyFile(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/tiny/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestParseRefuses(t *testing.T) {
	file := tinyFile(t)
	for _, tt := range []struct{ name, old, replacement, want string }{
		{"another version", `"version":"1.0"`, `"version":"2.0"`, `version is "2.0", want 1.0`},
		{"truncation", `"truncation":null`, `"truncation":{"max_length":5}`, `truncation is {"max_length":5}, want null`},
		{"padding", `"padding":null`, `"padding":{}`, "padding is {}, want null"},
		{"an unknown part", `"padding":null`, `"paddings":null`, `unknown field "paddings"`},
		{"a normalizer", `"normalizer":{"type":"Sequence","normalizers":[]}`, `"normalizer":{"type":"NFC"}`, `normalizer is {"type":"NFC"}`},
		{"normalizers", `"normalizers":[]`, `"normalizers":[{"type":"NFC"}]`, "want null or an empty Sequence"},
		{"another pattern", `\\p{N}{1,3}`, `\\p{N}{1,2}`, `pre_tokenizer: step 0: pattern is "\\p{N}{1,2}"`},
		{"a plain pattern", `{"Regex":"\\p{N}{1,3}"}`, `{"String":"x"}`, "pre_tokenizer: step 0: pattern is not a Regex"},
		{"another behavior", `"behavior":"Isolated"`, `"behavior":"Removed"`, `behavior is "Removed"`},
		{"inverted", `"invert":false`, `"invert":true`, `inverted true`},
		{"another step", `"type":"Split"`, `"type":"Digits"`, `type is "Digits", want Split`},
		{"a regex of bytes", `"trim_offsets":true,"use_regex":false`, `"trim_offsets":true,"use_regex":true`, "want a ByteLevel without"},
		{"a template", `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"TemplateProcessing"`, `post_processor: type is "TemplateProcessing"`},
		{"another decoder", `"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"Metaspace"`, `decoder: type is "Metaspace"`},
		{"another model", `"type":"BPE"`, `"type":"Unigram"`, `model: type is "Unigram", want BPE`},
		{"dropout", `"dropout":null`, `"dropout":0.1`, "model: dropout is set"},
		{"an unknown token", `"unk_token":null`, `"unk_token":"?"`, "model: unk_token is set"},
		{"a prefix", `"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`, "continuing_subword_prefix is set"},
		{"a suffix", `"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`, "end_of_word_suffix is set"},
		{"fused unknown", `"fuse_unk":false`, `"fuse_unk":true`, "fuse_unk is true"},
		{"byte fallback", `"byte_fallback":false`, `"byte_fallback":true`, "byte_fallback is true"},
		{"an option of the model", `"fuse_unk":false`, `"fuse_it":false`, `unknown field "fuse_it"`},
		{"lstrip", `"lstrip":false`, `"lstrip":true`, `added token "<｜begin▁of▁sentence｜>": lstrip is true`},
		{"rstrip", `"rstrip":false`, `"rstrip":true`, "rstrip is true"},
		{"single word", `"single_word":false`, `"single_word":true`, "single_word is true"},
		{"no content", `"content":"<think>"`, `"content":""`, "added token 557 has no content"},
		{"twice the same", `"content":"<think>"`, `"content":"</think>"`, `"</think>" stands there twice`},
		{"an id of two", `"id":557`, `"id":556`, `added token "<think>": id is 556, which is that of "<｜Assistant｜>"`},
		{"an id that the vocabulary gives otherwise", `"id":2,`, `"id":3,`, "id is 3, want 2 as in the vocabulary"},
		{"a giant id", `"id":557`, `"id":2000000000`, "id is 2000000000, want 0 to 1048575"},
		{"a negative id", `"id":557`, `"id":-5`, "id is -5"},
		{"a byte missing", `"!":3`, `"!!!":3`, `byte 0x21 ('!') has no token`},
		{"a token twice", `"!":3,`, `"!":3,"!":4,`, `token "!" stands there twice`},
		{"two tokens of one id", `"!":3,`, `"!":4,`, "id is 4, which is that of"},
		{"a merge of strangers", `["trin","g"]`, `["trin","zzz"]`, `want two tokens of the vocabulary that make a third`},
		{"a merge of three", `["trin","g"]`, `["tr","in","g"]`, "want two tokens"},
		{"a merge in words", `["trin","g"]`, `"trin"`, `merge is "trin", want two tokens`},
		{"a merge twice", `["trin","g"]`, `["gin","e"]`, "as one before"},
		{"more after the end", "", "", "more follows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			damaged := file + "{}"
			if tt.old != "" {
				damaged = strings.Replace(file, tt.old, tt.replacement, 1)
			}
			if damaged == file {
				t.Fatalf("the file has no %q", tt.old)
			}
			if _, err := Parse([]byte(damaged)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestParseMergesAsWords reads the older spelling of merges.
func TestParseMergesAsWords(t *testing.T) {
	file := tinyFile(t)
	head, merges, _ := strings.Cut(file, `"merges":[`)
	merges = strings.NewReplacer(`["`, `"`, `","`, ` `, `"]`, `"`).Replace(merges)
	tok, err := Parse([]byte(head + `"merges":[` + strings.ReplaceAll(merges, `" "`, `","`)))
	if err != nil {
		t.Fatal(err)
	}
	want := open(t, "testdata/tiny")
	if text := "The teacher asks: what is 12 + 30?"; !slices.Equal(tok.Encode(text), want.Encode(text)) {
		t.Errorf("Encode(%q) = %v, want %v", text, tok.Encode(text), want.Encode(text))
	}
}

// TestIgnoreMerges takes the last merge of a word out: then only the option finds its token.
func TestIgnoreMerges(t *testing.T) {
	file := strings.Replace(tinyFile(t), `,["Ġwron","g"]`, "", 1)
	for _, tt := range []struct {
		option string
		want   int
	}{{"false", 2}, {"true", 1}} {
		tok, err := Parse([]byte(strings.Replace(file, `"ignore_merges":false`, `"ignore_merges":`+tt.option, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(" wrong"); len(got) != tt.want {
			t.Errorf("ignore_merges %s: %v, want %d tokens", tt.option, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	file := tinyFile(f)
	f.Add([]byte(file))
	f.Add([]byte(file[:len(file)/2]))
	f.Add([]byte(`{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`))
	f.Add([]byte(`{"model":{"vocab":[],"merges":[[],"",null,3]}}`))
	f.Add([]byte(strings.Replace(file, `["trin","g"]`, `["g","trin"]`, 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := Parse(raw)
		if err != nil {
			return
		}
		if text := "The answer is 42.<think>"; tok.Decode(tok.Encode(text)) != text {
			t.Fatalf("%q becomes %q", text, tok.Decode(tok.Encode(text)))
		}
	})
}

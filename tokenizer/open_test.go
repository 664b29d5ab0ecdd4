package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// model writes a directory with the tiny vocabulary and two other files; "" leaves one out.
func model(t *testing.T, use, generation string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json": tinyFile(t), "tokenizer_config.json": use, "generation_config.json": generation,
	} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenFacts(t *testing.T) {
	const begin, end = `"bos_token":"<｜begin▁of▁sentence｜>"`, `"eos_token":"<｜end▁of▁sentence｜>"`
	for _, tt := range []struct {
		name, use, generation string
		want                  Facts
	}{
		{
			"both files", `{` + begin + `,` + end + `,"add_bos_token":true,"model_max_length":99}`, `{"bos_token_id":0,"eos_token_id":[557,1]}`,
			Facts{BOS: 0, EOS: 1, Pad: 1, Stops: []int32{1, 557}, AddBOS: true, MaxLength: 99},
		},
		{
			"spelled only", `{` + end + `,"pad_token":{"content":"<｜▁pad▁｜>"},"bos_token":null,"model_max_length":1e30}`, "",
			Facts{BOS: -1, EOS: 1, Pad: 2, Stops: []int32{1}},
		},
		{
			"numbered only", "", `{"bos_token_id":0,"eos_token_id":1,"pad_token_id":2}`,
			Facts{BOS: 0, EOS: 1, Pad: 2, Stops: []int32{1}},
		},
		{"the first of a list", "", `{"eos_token_id":[555,1]}`, Facts{BOS: -1, EOS: 555, Pad: 555, Stops: []int32{555, 1}}},
		{
			"added tokens again", `{` + end + `,"added_tokens_decoder":{"557":{"content":"<think>"}}}`, "",
			Facts{BOS: -1, EOS: 1, Pad: 1, Stops: []int32{1}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tok, err := Open(model(t, tt.use, tt.generation))
			if err != nil {
				t.Fatal(err)
			}
			got := tok.Facts()
			if !slices.Equal(got.Stops, tt.want.Stops) {
				t.Errorf("stops are %v, want %v", got.Stops, tt.want.Stops)
			}
			got.Stops, tt.want.Stops = nil, nil
			if got.BOS != tt.want.BOS || got.EOS != tt.want.EOS || got.Pad != tt.want.Pad || got.AddBOS != tt.want.AddBOS || got.MaxLength != tt.want.MaxLength {
				t.Errorf("facts are %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	const end = `"eos_token":"<｜end▁of▁sentence｜>"`
	for _, tt := range []struct{ name, use, generation, want string }{
		{"no end", "", "", "no file names the token that ends a response"},
		{"a strange spelling", `{"eos_token":"<eos>"}`, "", `eos_token: token is "<eos>"`},
		{"contradiction", `{` + end + `,"bos_token":"<think>"}`, `{"bos_token_id":0}`, `bos_token is "<think>", 557, but generation_config.json says 0`},
		{"an id outside", "", `{"eos_token_id":99999}`, "eos_token_id is 99999, want 0 to 563"},
		{"an id outside, second", "", `{"eos_token_id":[1,99999]}`, "eos_token_id is 99999"},
		{"not a number", "", `{"eos_token_id":"1"}`, "generation_config.json"},
		{"broken", `{`, "", "tokenizer_config.json"},
		{"a blank before", `{` + end + `,"add_prefix_space":true}`, "", "add_prefix_space is true"},
		{"specials split", `{` + end + `,"split_special_tokens":true}`, "", "split_special_tokens is true"},
		{"cleaning", `{` + end + `,"clean_up_tokenization_spaces":true}`, "", "clean_up_tokenization_spaces is true"},
		{"begin without token", `{` + end + `,"add_bos_token":true}`, "", "add_bos_token is true"},
		{"more added tokens", `{` + end + `,"added_tokens_decoder":{"600":{"content":"<more>"}}}`, "", `added token 600 is "<more>"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(model(t, tt.use, tt.generation)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("Open of an empty directory: %v, want one that names tokenizer.json", err)
	}
}

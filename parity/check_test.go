package parity

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// What both sides must agree on, one thing at a time: the error names both values and what to do, it comes before anything is scored, and --ignore lets it pass.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(a, b *About, seqs []Sequence)
		check  string
		want   []string
	}{
		{"vocabulary size", func(_, b *About, _ []Sequence) { b.Tokenizer.Size = 129280 }, "tokenizer", []string{"A's vocabulary has 272 tokens, and B's 129280", "same tokenizer"}},
		{"digest", func(_, b *About, _ []Sequence) { b.Tokenizer.Digest = "0123456789abcdef" }, "tokenizer", []string{"digest", "0123456789ab"}},
		{"special id", func(_, b *About, _ []Sequence) {
			b.Tokenizer = Tokenizer{IDs: map[string]int{"eos": 1, "bos": 256}}
		}, "tokenizer", []string{"eos is 257 under A, and 1 under B"}},
		{"probe text", func(a, b *About, _ []Sequence) {
			b.Tokenizer = Tokenizer{Probes: []Probe{{ProbeTexts[1], []int32{1, 2, 3}}}}
		}, "tokenizer", []string{`"Hello, world!" is [72 101`, "and [1 2 3] under B"}},
		{"number of the config", func(_, b *About, _ []Sequence) { b.Config["hidden_size"] = 64.0 }, "config", []string{"hidden_size is 32 under A, and 64 under B", "same model"}},
		{"member of a list", func(_, b *About, _ []Sequence) { b.Config["compress_rates"] = []any{4.0, 128.0, 0.0} }, "config", []string{"compress_rates[2] is 4 under A, and 0 under B"}},
		{"length of a list", func(_, b *About, _ []Sequence) { b.Config["compress_rates"] = []any{4.0} }, "config", []string{"compress_rates is [4,128,4] under A, and [4] under B"}},
		{"weights", func(a, b *About, _ []Sequence) { a.State, b.State = "aaaa", "bbbb" }, "weights", []string{"aaaa", "bbbb", "same checkpoint"}},
		{"version", func(a, b *About, _ []Sequence) { a.Version, b.Version = "7", "8" }, "version", []string{`A serves version "7", and B "8"`, "update one"}},
		{"context of A", func(a, _ *About, _ []Sequence) { a.Context = 10 }, "length", []string{"sequence t1 has 3 tokens of prompt and 8 of response, and A's context has 10", "longer context"}},
		{"context of B", func(_, b *About, _ []Sequence) { b.Context = 7 }, "length", []string{"B's context has 7"}},
		{"no prompt", func(_, _ *About, seqs []Sequence) { seqs[0].Prompt = nil }, "length", []string{"sequence t0 has no prompt"}},
		{"token beyond the vocabulary", func(_, b *About, _ []Sequence) { b.Vocab = 60 }, "vocabulary", []string{"token 0 of sequence t0 is 65, and B's vocabulary has 60", "with the tokenizer of this model"}},
		{"token below", func(_, _ *About, seqs []Sequence) { seqs[1].Response[2] = -1 }, "vocabulary", []string{"token 5 of sequence t1 is -1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seqs := texts(5, 8)
			a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: plainRule}
			tt.change(&a.about, &b.about, seqs)
			_, err := Run(t.Context(), a, b, options(seqs))
			var failed *CheckError
			if !errors.As(err, &failed) || failed.Name != tt.check {
				t.Fatalf("error is %v, want one of check %s", err, tt.check)
			}
			for _, w := range append(tt.want, "--ignore "+tt.check) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error is %v, want %q in it", err, w)
				}
			}
			if len(a.calls)+len(b.calls) != 0 {
				t.Errorf("%d and %d calls were made before", len(a.calls), len(b.calls))
			}
			o := options(seqs)
			o.Ignore = []string{tt.check}
			res, err := Run(t.Context(), a, b, o)
			if err != nil {
				t.Fatalf("with the check ignored: %v", err)
			}
			if i := slices.IndexFunc(res.Report.Checks, func(c Check) bool { return c.Ignored }); i < 0 || res.Report.Checks[i].Name != tt.check {
				t.Errorf("checks are %+v, want %s told as ignored", res.Report.Checks, tt.check)
			}
		})
	}
}

// What only one side says is no difference, and several failures come together.
func TestChecksOfWhatIsNotSaid(t *testing.T) {
	seqs := texts(4)
	a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: About{Name: "two"}, lp: plainRule}
	if _, err := Run(t.Context(), a, b, options(seqs)); err != nil {
		t.Errorf("error is %v, want none", err)
	}
	b.about = bytesAbout("two")
	b.about.Vocab, b.about.Config["hidden_size"], b.about.Tokenizer.Size = 60, 1, 5
	_, err := Run(t.Context(), a, b, options(seqs))
	for _, name := range []string{"vocabulary: ", "config: ", "tokenizer: "} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, want one that also begins with %s", err, name)
		}
	}
	// Digests of other formats do not compare, nor do names of versions where digests agree.
	b.about = bytesAbout("two")
	a.about.State, b.about.State, b.about.Weights = "aaaa", "bbbb", "bf16 fp8"
	if _, err := Run(t.Context(), a, b, options(seqs)); err != nil {
		t.Errorf("error is %v, want none: formats differ", err)
	}
	b.about.State, b.about.Weights, a.about.Version, b.about.Version = "aaaa", "bf16", "1", "default"
	if _, err := Run(t.Context(), a, b, options(seqs)); err != nil {
		t.Errorf("error is %v, want none: digests agree", err)
	}
}

// Prompts that are still to be answered are held against contexts with room for the answers.
func TestRoomForResponses(t *testing.T) {
	a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: plainRule}
	b.about.Context = 20
	o := options([]Sequence{{ID: "p", Prompt: []int32{65, 66, 67}}})
	o.Draw = &Drawing{MaxNewTokens: 18}
	_, err := Run(t.Context(), a, b, o)
	if err == nil || !strings.Contains(err.Error(), "sequence p has 3 tokens of prompt and 18 of response, and B's context has 20") {
		t.Errorf("error is %v, want one of the length", err)
	}
	o.Draw.MaxNewTokens = 17
	if _, err := Run(t.Context(), a, b, o); err == nil || !strings.Contains(err.Error(), "draws no responses, want --sequences") {
		t.Errorf("error is %v, want one that A draws nothing", err)
	}
}

// A side that cannot score is found with a single token.
func TestScoringIsTried(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(f *fake)
		want  string
	}{
		{"refuses", func(f *fake) { f.refuse = errors.New("0 logprobs of the prompt, want 2") }, "B cannot score given tokens: 0 logprobs of the prompt"},
		{"too few", func(f *fake) { f.short = true }, "1 logprobs, want one for each of 2 response tokens"},
		{"no logprobs", func(f *fake) { f.lp = func(Sequence, int, int) float32 { return 0.5 } }, "token 0 has logprob 0.5, want at most 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: plainRule}
			tt.spoil(b)
			_, err := Run(t.Context(), a, b, options(texts(300)))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "logprobs of prompts") {
				t.Errorf("error is %v, want %q in it", err, tt.want)
			}
			if len(a.calls) != 1 {
				t.Errorf("A was called %d times, want once: for the trial", len(a.calls))
			}
		})
	}
}

// Every meaning of a logprob but ours is named before anything is scored.
func TestMeaning(t *testing.T) {
	for _, tt := range []struct {
		name    string
		meaning int
		off     float64
		want    string
	}{
		{"ours", 0, 0, ""},
		{"ours, roughly", 0, 0.01, ""},
		{"before temperature", 1, 0, "B tells logprobs of the distribution before temperature, want them of the whole distribution after temperature"},
		{"renormalised", 2, 0, "B tells logprobs renormalised after top-p"},
		{"before temperature and renormalised", 3, 0, "before temperature, renormalised after top-p"},
		{"none", 0, 3, "none that is known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &speaker{fake: fake{about: bytesAbout("one"), lp: plainRule}}
			b := &speaker{fake: fake{about: bytesAbout("two"), lp: plainRule}, meaning: tt.meaning, off: tt.off}
			_, err := Run(t.Context(), a, b, options(texts(5)))
			if tt.want == "" {
				if err != nil {
					t.Errorf("error is %v, want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q in it", err, tt.want)
			}
			if len(b.calls) > 1 {
				t.Errorf("%d calls to score, want the trial alone", len(b.calls))
			}
		})
	}
}

// sure draws the same token whatever is asked: meanings cannot be told apart.
type sure struct{ fake }

func (*sure) Draw(context.Context, []int32, float64, float64, int) (Drawn, error) {
	return Drawn{Likely: []Likely{{0, 0}}}, nil
}

func TestMeaningThatCannotBeTold(t *testing.T) {
	a := &sure{fake{about: bytesAbout("one"), lp: plainRule}}
	res, err := Run(t.Context(), a, &fake{about: bytesAbout("two"), lp: plainRule}, options(texts(5)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Report.Checks {
		if c.Name == "meaning" && (!c.OK || !strings.Contains(c.A, "not told apart: the likeliest token takes nearly all") || c.B != "") {
			t.Errorf("check is %+v, want A's meaning not told apart, and nothing of B", c)
		}
	}
}

// Who is interrupted while a side is tried is told so, and not that the side cannot score.
func TestInterruptedCheck(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	a, b := &fake{about: bytesAbout("one"), lp: plainRule, refuse: context.Canceled}, &fake{about: bytesAbout("two"), lp: plainRule}
	var failed *CheckError
	if _, err := Run(ctx, a, b, options(texts(3))); !errors.Is(err, context.Canceled) || errors.As(err, &failed) {
		t.Errorf("error is %v, want the interrupt alone", err)
	}
}

// The flag's last list counts, so the advice names what is ignored already, too.
func TestAdviceNamesAllThatIsIgnored(t *testing.T) {
	a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: plainRule}
	b.about.Config["hidden_size"], a.about.State, b.about.State = 1, "aaaa", "bbbb"
	o := options(texts(3))
	o.Ignore = []string{"config"}
	if _, err := Run(t.Context(), a, b, o); err == nil || !strings.Contains(err.Error(), "--ignore config weights") {
		t.Errorf("error is %v, want one that advises --ignore config weights", err)
	}
}

// Nor is there a verdict where the interrupt comes while a twin shows what formats make: the gap would be told as one that they do not explain.
func TestInterruptedTwin(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	a, b := &fake{about: bytesAbout("one"), lp: plainRule}, &fake{about: bytesAbout("two"), lp: shifted(func(int) float32 { return -0.1 })}
	b.about.Weights = "bf16 fp8"
	b.twin = func(About) (Side, error) { stop(); return nil, ctx.Err() }
	if res, err := Run(ctx, a, b, options(texts(3))); res != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("result is %v, error %v, want the interrupt", res, err)
	}
}

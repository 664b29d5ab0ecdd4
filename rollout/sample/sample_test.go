package sample

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/rl"
)

func TestWeigh(t *testing.T) {
	var logits []float32
	for x := float32(0); x >= -70; x -= 0.00137 {
		logits = append(logits, x+3)
	}
	for _, scale := range []float64{1, 0.37, 4} {
		var d Drawer
		sum, got := 0.0, d.weigh(logits, 3, scale)
		for i, l := range logits {
			x := float64(l-3) * scale
			want := math.Exp(x)
			if x < -60 {
				want = 0
			}
			if math.Abs(d.w[i]-want) > 6e-11*want {
				t.Fatalf("weight at %v is %v, want %v", x, d.w[i], want)
			}
			sum += d.w[i]
		}
		if got != sum || d.w[0] != 1 {
			t.Errorf("sum is %v, want %v; the likeliest weighs %v, want 1", got, sum, d.w[0])
		}
	}
}

func TestUniformIsAFunctionOfSeedAndIndex(t *testing.T) {
	for _, tt := range []struct {
		seed uint64
		i    int
		want float64
	}{{0, 0, 0.6524484863740322}, {0, 1, 0.7012121095215252}, {1, 0, 0.36818951565166946}, {math.MaxUint64, 1000, 0.033884161635479915}} { // by an independent program
		if got := Uniform(tt.seed, tt.i); got != tt.want {
			t.Errorf("Uniform(%d, %d) = %v, want %v", tt.seed, tt.i, got, tt.want)
		}
	}
}

// Over seeds and over indices, neighbours included, draws are spread evenly and not tied to each other.
func TestUniformIsEven(t *testing.T) {
	for _, tt := range []struct {
		name string
		draw func(n int) float64
	}{
		{"indices", func(n int) float64 { return Uniform(5, n) }},
		{"seeds", func(n int) float64 { return Uniform(uint64(n), 0) }},
		{"both", func(n int) float64 { return Uniform(uint64(n), n) }},
	} {
		const n, cells = 100000, 64
		var one [cells]float64
		var two [cells]float64 // pairs of neighbours, 8 by 8
		last := tt.draw(0)
		for i := range n {
			u := tt.draw(i + 1)
			one[int(u*cells)]++
			two[int(last*8)*8+int(u*8)]++
			last = u
		}
		for _, counts := range [][cells]float64{one, two} {
			if x := chiSquare(counts[:], n/cells); x > 130 { // 63 degrees of freedom: about 1 in a million
				t.Errorf("%s: chi-square is %.0f, want below 130", tt.name, x)
			}
		}
	}
}

func chiSquare(counts []float64, want float64) (x float64) {
	for _, c := range counts {
		x += (c - want) * (c - want) / want
	}
	return x
}

func TestDrawFollowsTheDistribution(t *testing.T) {
	logits := []float32{0, 1, -2, 3, 3, -0.5, float32(math.Inf(-1)), 2}
	for _, temperature := range []float64{0.6, 1, 1.3} {
		s := rl.DefaultSampling()
		s.Temperature = temperature
		const n = 200000
		counts := make([]float64, len(logits))
		var d Drawer
		for i := range n {
			token, _, err := d.Draw(logits, s, i)
			if err != nil {
				t.Fatal(err)
			}
			counts[token]++
		}
		z := 0.0
		for _, l := range logits {
			z += math.Exp(float64(l) / temperature)
		}
		for i, l := range logits {
			p := math.Exp(float64(l)/temperature) / z
			if sd := math.Sqrt(n * p * (1 - p)); math.Abs(counts[i]-n*p) > 5*sd {
				t.Errorf("temperature %v: token %d drawn %v times, want %.0f +- %.0f", temperature, i, counts[i], n*p, 5*sd)
			}
		}
	}
}

func TestGreedyTakesTheSmallestIdOnTies(t *testing.T) {
	s := rl.Sampling{Temperature: 0, TopP: 0.5, TopK: 1, MaxTokens: 1}
	var d Drawer
	token, trunc, err := d.Draw([]float32{1, 5, 5, 2}, s, 0)
	if token != 1 || trunc != 0 || err != nil {
		t.Errorf("Draw = %d, %v, %v, want 1, 0, nil", token, trunc, err)
	}
	if Truncates(s) {
		t.Error("temperature 0 truncates, want that it does not")
	}
}

func TestTruncate(t *testing.T) {
	// weights 1, 1/2, 1/4, 1/4, 1/8 at ids 3, 0, 1, 4, 2: shares 8 4 2 2 1 of 17
	logits := []float32{-0.6931472, -1.3862944, -2.0794415, 0, -1.3862944}
	for _, tt := range []struct {
		name string
		s    rl.Sampling
		want []int32
	}{
		{"nothing", rl.Sampling{TopP: 1}, []int32{3, 0, 1, 4, 2}},
		{"top-k 1", rl.Sampling{TopP: 1, TopK: 1}, []int32{3}},
		{"top-k cuts a tie by id", rl.Sampling{TopP: 1, TopK: 3}, []int32{3, 0, 1}},
		{"top-k beyond the vocabulary", rl.Sampling{TopP: 1, TopK: 99}, []int32{3, 0, 1, 4, 2}},
		{"top-p within the first", rl.Sampling{TopP: 0.3}, []int32{3}},
		{"top-p keeps the token that reaches it", rl.Sampling{TopP: 0.5}, []int32{3, 0}},
		{"top-p over all", rl.Sampling{TopP: 0.95}, []int32{3, 0, 1, 4, 2}},
		{"top-p counts shares of all tokens, not of the top-k", rl.Sampling{TopP: 0.65, TopK: 2}, []int32{3, 0}},
		{"min-p keeps its bound", rl.Sampling{TopP: 1, MinP: 0.25}, []int32{3, 0, 1, 4}},
		{"min-p 1", rl.Sampling{TopP: 1, MinP: 1}, []int32{3}},
		{"all three", rl.Sampling{TopP: 0.8, TopK: 4, MinP: 0.3}, []int32{3, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d Drawer
			sum := d.weigh(logits, 0, 1)
			copy(d.w, []float64{0.5, 0.25, 0.125, 1, 0.25}) // what rounding of the logits took
			d.truncate(tt.s, sum)
			if !slices.Equal(d.kept, tt.want) {
				t.Errorf("kept %v, want %v", d.kept, tt.want)
			}
		})
	}
}

// The candidates' bar saves sorting and nothing else: sorting all tokens keeps the same ones.
func TestTruncateAgainstSortingAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		logits := make([]float32, 1+r.IntN(200))
		spread := math.Exp(r.Float64()*6 - 3)
		for i := range logits {
			logits[i] = float32(math.Round(r.NormFloat64()*spread*4) / 4) // with ties
		}
		s := rl.Sampling{Temperature: 1, TopP: 1, MaxTokens: 1}
		if r.IntN(2) == 0 {
			s.TopK = 1 + r.IntN(50)
		}
		if r.IntN(2) == 0 {
			s.TopP = 0.01 + 0.98*r.Float64()
		}
		if r.IntN(2) == 0 {
			s.MinP = r.Float64() * r.Float64()
		}
		var d Drawer
		best, err := Likeliest(logits)
		if err != nil {
			t.Fatal(err)
		}
		sum := d.weigh(logits, logits[best], 1)
		want := sortAll(d.w, s, sum)
		d.truncate(s, sum)
		if !slices.Equal(d.kept, want) {
			t.Fatalf("%+v keeps %v, want %v", s, d.kept, want)
		}
	}
}

func sortAll(w []float64, s rl.Sampling, sum float64) (kept []int32) {
	order := make([]int32, len(w))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(w[b], w[a]) })
	before := 0.0
	for n, t := range order {
		if w[t] > 0 && (s.TopK == 0 || n < s.TopK) && before <= s.TopP*sum && w[t] >= s.MinP {
			kept = append(kept, t)
		}
		before += w[t]
	}
	return kept
}

func TestTruncatedLogProb(t *testing.T) {
	logits := []float32{0, 1, 2, 3}
	s := rl.Sampling{Temperature: 2, TopP: 1, TopK: 2, MaxTokens: 1}
	var d Drawer
	for i := range 50 {
		token, got, err := d.Draw(logits, s, i)
		if err != nil || token < 2 {
			t.Fatalf("Draw = %d, %v, want token 2 or 3", token, err)
		}
		want := -math.Log(1 + math.Exp(float64(logits[5-token]-logits[token])/2))
		if math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("truncated logprob of token %d is %v, want %v", token, got, want)
		}
	}
}

func TestBadLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		logits []float32
		want   string
	}{
		{[]float32{0, nan, 1}, "logit of token 1 is NaN"},
		{[]float32{nan}, "logit of token 0 is NaN"},
		{[]float32{0, 1, inf}, "logit of token 2 is +Inf"},
		{[]float32{-inf, -inf}, "none of 2 logits is one"},
		{nil, "none of 0 logits is one"},
	} {
		for _, temperature := range []float64{0, 1} {
			s := rl.DefaultSampling()
			s.Temperature = temperature
			if _, _, err := new(Drawer).Draw(tt.logits, s, 0); !errors.Is(err, rl.ErrBroken) || err.Error() != "weights compute no finite numbers: "+tt.want {
				t.Errorf("Draw(%v) at temperature %v: error is %v, want %q", tt.logits, temperature, err, tt.want)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		change func(*rl.Sampling)
		want   string
	}{
		{func(*rl.Sampling) {}, ""},
		{func(s *rl.Sampling) { s.Temperature = 0 }, ""},
		{func(s *rl.Sampling) { s.Temperature = math.NaN() }, "temperature is NaN, want 0 or more"},
		{func(s *rl.Sampling) { s.TopP, s.TopK = 0, -1 }, "top_p is 0, want more than 0 and at most 1\ntop_k is -1, want 0 (all) or more"},
		{func(s *rl.Sampling) { s.MinP, s.MaxTokens = 2, 0 }, "min_p is 2, want 0 to 1\nmax_new_tokens is 0, want at least 1"},
		{func(s *rl.Sampling) { s.MinTokens = s.MaxTokens }, ""},
		{func(s *rl.Sampling) { s.MinTokens, s.MaxTokens = 6, 5 }, "min_new_tokens is 6, want 0 to max_new_tokens (5)"},
		{func(s *rl.Sampling) { s.MinTokens = -1 }, "min_new_tokens is -1, want 0 to max_new_tokens (1024)"},
		{func(s *rl.Sampling) { s.RepetitionPenalty = -1 }, "repetition_penalty is -1, want more than 0 (or 0 for none)"},
		{func(s *rl.Sampling) { s.RepetitionPenalty = math.NaN() }, "repetition_penalty is NaN, want more than 0 (or 0 for none)"},
		{func(s *rl.Sampling) { s.FrequencyPenalty, s.PresencePenalty = math.Inf(1), -0.5 }, "frequency_penalty is +Inf, want a finite number"},
		{func(s *rl.Sampling) { s.PresencePenalty = math.NaN() }, "presence_penalty is NaN, want a finite number"},
		{func(s *rl.Sampling) { s.Bias = []rl.Bias{{Token: 1, Add: -1}, {Token: 5, Add: float32(math.Inf(-1))}} }, ""},
		{func(s *rl.Sampling) { s.Bias = []rl.Bias{{Token: 5}, {Token: 5}} }, "logit_bias of token 5 comes after that of token 5, want ascending ones"},
		{func(s *rl.Sampling) { s.Bias = []rl.Bias{{Token: 5, Add: float32(math.Inf(1))}} }, "logit_bias of token 5 is +Inf, want a number"},
	} {
		s := rl.DefaultSampling()
		tt.change(&s)
		got := ""
		if err := Validate(s, Wire); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Validate(%+v) = %q, want %q", s, got, tt.want)
		}
	}
}

// TestValidateByName wants each parameter under the name that it was asked for by.
func TestValidateByName(t *testing.T) {
	names := Names{Temperature: "--t", TopP: "--p", TopK: "--k", MinP: "--m", MaxTokens: "--n"}
	err := Validate(rl.Sampling{Temperature: -1, TopP: 2, TopK: -2, MinP: -1}, names)
	want := "--t is -1, want 0 or more\n--p is 2, want more than 0 and at most 1\n--k is -2, want 0 (all) or more\n--m is -1, want 0 to 1\n--n is 0, want at least 1"
	if err == nil || err.Error() != want {
		t.Errorf("Validate = %v, want %s", err, want)
	}
}

func ExampleDrawer_Draw() {
	var d Drawer
	s := rl.DefaultSampling()
	s.Seed = 7
	logits := []float32{0, 1, 2}
	for i := range 6 {
		token, _, _ := d.Draw(logits, s, i)
		fmt.Print(token, " ")
	}
	fmt.Println()
	// Output: 2 2 2 2 2 1
}

func BenchmarkDraw(b *testing.B) {
	for _, vocab := range []int{512, 129280} {
		logits := make([]float32, vocab)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range logits {
			logits[i] = float32(r.NormFloat64())
		}
		for _, tt := range []struct {
			name string
			s    rl.Sampling
		}{{"plain", rl.Sampling{Temperature: 1, TopP: 1}}, {"top-p", rl.Sampling{Temperature: 1, TopP: 0.9}}, {"top-k", rl.Sampling{Temperature: 1, TopP: 1, TopK: 20}}} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, vocab), func(b *testing.B) {
				var d Drawer
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, _, err := d.Draw(logits, tt.s, i); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package samples

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

func TestParseKeepExperts(t *testing.T) {
	for _, tt := range []struct {
		in   string
		ok   bool
		none bool
	}{
		{"auto", true, false},
		{"all", true, false},
		{"none", true, true},
		{"worst:7", true, false},
		{"", false, false},
		{"worst", false, false},
		{"worst:0", false, false},
		{"worst:-1", false, false},
		{"last:3", false, false},
	} {
		k, err := ParseKeepExperts(tt.in)
		if (err == nil) != tt.ok || tt.ok && (k.String() != tt.in || k.None() != tt.none) {
			t.Errorf("ParseKeepExperts(%q) = %v, none %v, %v", tt.in, k, k.None(), err)
		}
		if err != nil && !strings.Contains(err.Error(), "--keep-experts") {
			t.Errorf("error %q does not name the flag", err)
		}
	}
}

// routed draws a cycle whose samples tell experts of a model of some layers.
func routed(layers, choices, experts, samples, tokens int) Batch {
	r := rand.New(rand.NewPCG(uint64(layers), uint64(experts)))
	b := Batch{Cycle: 37}
	for i := range samples {
		s := &rl.Sample{
			Prompt: &rl.Prompt{Group: int64(i), Tokens: []int32{1, 2, 3}}, Response: make([]int32, tokens), Versions: []rl.Span{{Version: 1, Tokens: tokens}},
			Experts: rl.NewRoutes(layers, choices, experts), TrainExperts: rl.NewRoutes(layers, choices, experts),
		}
		for t := range tokens {
			s.LogProbs = append(s.LogProbs, float32(-r.ExpFloat64()))
			s.TrainLogProbs = append(s.TrainLogProbs, s.LogProbs[t]+float32(r.IntN(50))/64) // often equal gaps
		}
		for range 3 + tokens - 1 {
			row := make([]int32, layers*choices)
			for j := range row {
				row[j] = int32(r.IntN(experts))
			}
			s.Experts.Add(row)
			if r.IntN(2) == 0 {
				row[r.IntN(len(row))] = int32(r.IntN(experts))
			}
			s.TrainExperts.Add(row)
		}
		b.Samples = append(b.Samples, Sample{Sample: s})
	}
	return b
}

// written writes a batch and opens its body.
func written(t *testing.T, b Batch, keep string) *Body {
	t.Helper()
	k, err := ParseKeepExperts(keep)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := Open(dir, Options{Attempt: 1, Text: text, Log: quiet(), Experts: k})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	add(t, w, b)
	body, err := OpenBody(filepath.Join(dir, Name(uint32(b.Cycle), b.Eval)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { body.Close() })
	return body
}

// worstOf lists the tokens before those with the largest gaps, by sorting all of them.
func worstOf(b Batch, n int) map[[2]int]bool {
	type place struct {
		at  [2]int
		gap float64
	}
	var all []place
	for i, s := range b.Samples {
		for t := range s.TrainLogProbs {
			if s.Mask == nil || s.Mask[t] || !slices.Contains(s.Mask, true) {
				all = append(all, place{[2]int{i, len(s.Prompt.Tokens) + t - 1}, math.Abs(float64(s.TrainLogProbs[t]) - float64(s.LogProbs[t]))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.gap, a.gap) })
	out := map[[2]int]bool{}
	for _, p := range all[:min(n, len(all))] {
		out[p.at] = true
	}
	return out
}

func TestWhoseExpertsAreKept(t *testing.T) {
	small, large := routed(6, 2, 16, 3, 60), routed(43, 6, 256, 3, 60)
	masked := routed(6, 2, 16, 3, 60)
	masked.Samples[0].Mask, masked.Samples[1].Mask = make([]bool, 60), make([]bool, 60) // nobody's, and a few
	masked.Samples[1].Mask[7], masked.Samples[1].Mask[59] = true, true
	for _, tt := range []struct {
		keep  string
		b     Batch
		worst int // -1 for all
	}{
		{"auto", small, -1},
		{"auto", large, 100},
		{"all", large, -1},
		{"none", small, 0},
		{"worst:1", small, 1},
		{"worst:40", small, 40},
		{"worst:9999", large, 9999},
		{"worst:5", masked, 5},
		{"worst:9999", masked, 9999},
	} {
		t.Run(fmt.Sprint(tt.keep, " of ", tt.worst), func(t *testing.T) {
			body, want := written(t, tt.b, tt.keep), worstOf(tt.b, max(tt.worst, 0))
			for i, s := range tt.b.Samples {
				got, err := body.Sample(i)
				if err != nil {
					t.Fatal(err)
				}
				for token := range s.Experts.Len() {
					compareChoice(t, s, got.Chosen, token, tt.worst < 0 || want[[2]int{i, token}])
				}
				if full := got.Experts != nil && got.TrainExperts != nil; full != (tt.worst < 0) {
					t.Errorf("sample %d: routes of all tokens: %v", i, full)
				}
			}
		})
	}
}

// compareChoice compares what is kept of a token with what both engines told.
func compareChoice(t *testing.T, s Sample, c *Chosen, token int, kept bool) {
	t.Helper()
	for side, r := range s.routesOf() {
		for layer := range r.Layers {
			var want []int
			for _, e := range r.At(nil, token, layer) {
				want = append(want, int(e))
			}
			got, ok := c.At(nil, Side(side), token, layer)
			if ok != kept || ok && !slices.Equal(got, want) {
				t.Fatalf("side %d, token %d, layer %d: %v, %v, want %v, %v", side, token, layer, got, ok, want, kept)
			}
		}
	}
}

// What one engine tells of fewer tokens is kept of those.
func TestExpertsOfSomeTokens(t *testing.T) {
	b := routed(3, 2, 300, 1, 9)
	s := b.Samples[0]
	s.Experts, s.TrainExperts = s.Experts.Head(4), nil
	b.Samples[0] = s
	got, err := written(t, b, "all").Sample(0)
	if err != nil {
		t.Fatal(err)
	}
	for token := range 12 {
		_, ok := got.Chosen.At(nil, ByRollout, token, 1)
		if _, other := got.Chosen.At(nil, ByTrainer, token, 1); ok != (token < 4) || other {
			t.Errorf("token %d: kept %v when it was drawn and %v in the trainer", token, ok, other)
		}
	}
	if got.Experts != nil || got.TrainExperts != nil {
		t.Error("routes of some tokens were given for those of all")
	}
	if _, ok := (*Chosen)(nil).At(nil, ByRollout, 0, 0); ok {
		t.Error("nothing is kept, and something was found")
	}
}

func TestExpertsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(s *rl.Sample){
		"experts of 12 tokens, want at most 11": func(s *rl.Sample) { s.Experts.Add(make([]int32, 6)) },
		"want 2 of 5 in 4":                      func(s *rl.Sample) { s.TrainExperts = rl.NewRoutes(3, 2, 6); s.TrainExperts.Add(make([]int32, 6)) },
		"goes to expert 5":                      func(s *rl.Sample) { s.Experts.Rows[3] = 5 },
	} {
		b := routed(3, 2, 5, 2, 9)
		if strings.Contains(name, "in 4") {
			b = routed(4, 2, 5, 2, 9)
		}
		change(b.Samples[1].Sample)
		w := open(t, t.TempDir(), 1)
		if err := w.Add(b); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "group 1 sample 0") {
			t.Errorf("Add = %v, want %q", err, name)
		}
		b.Samples = b.Samples[:1]
		add(t, w, b)
	}
}

// A body that was written before there were experts reads as it did.
func TestBodyWithoutExperts(t *testing.T) {
	body, err := OpenBody("testdata/without-experts.fls")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if err := body.Verify(); err != nil {
		t.Error(err)
	}
	for i, want := range batch(37, 3).Samples {
		got, err := body.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		if got.Chosen != nil || got.Experts != nil {
			t.Error("experts were found")
		}
		want.Experts, want.TrainExperts = nil, nil
		sameSample(t, want, got, map[string]bool{})
	}
}

// A reader that knows nothing of experts finds all else: the test has it not know them by other names in the header.
func TestReaderWithoutExperts(t *testing.T) {
	whole := bodyBytes(t)
	header := string(whole[prefixBytes : prefixBytes+binary.LittleEndian.Uint32(whole[20:])])
	other := strings.NewReplacer(`"experts":{`, `"unknown":{`, `"name":"experts`, `"name":"unknown`).Replace(header)
	if other == header {
		t.Fatalf("header has no experts: %s", header)
	}
	raw := reseal(whole, []byte(other))
	body, err := newBody(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range batch(37, 2).Samples {
		got, err := body.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		want.Experts, want.TrainExperts = nil, nil
		sameSample(t, want, got, map[string]bool{})
	}
}

// What a body gains by experts of a model as small as the starter's stays well under what it has without.
func TestExpertsAreSmall(t *testing.T) {
	size := func(keep string) int64 {
		body := written(t, routed(6, 2, 16, 64, 60), keep)
		info, err := os.Stat(body.name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	// 62 tokens, each with 2 bits, 12 experts of 4 under the first engine, one bit, and as much again in half of the cases.
	without, with := size("none"), size("all")
	if most := int64(64 * 62 * (3 + 2*48) / 8); with-without > most {
		t.Errorf("experts take %d bytes, want at most %d", with-without, most)
	}
}

func TestHostileExperts(t *testing.T) {
	whole := bodyBytes(t)
	header := string(whole[prefixBytes : prefixBytes+binary.LittleEndian.Uint32(whole[20:])])
	was := `"experts":{"layers":3,"choices":2,"experts":5}`
	if !strings.Contains(header, was) {
		t.Fatalf("header is %s", header)
	}
	for _, now := range []string{
		`"experts":{"layers":0,"choices":2,"experts":5}`, `"experts":{"layers":3,"choices":-2,"experts":5}`, `"experts":{"layers":3,"choices":2,"experts":65537}`,
		`"experts":{"layers":65535,"choices":65535,"experts":5}`, `"experts":{"layers":3,"choices":2,"experts":4}`, `"experts":{"layers":4,"choices":2,"experts":5}`,
		`"experts":{"layers":3,"choices":2,"experts":300}`, `"experts":{}`,
	} {
		raw := reseal(whole, []byte(strings.Replace(header, was, now, 1)))
		if used := memory(func() {
			if readAll(raw) == nil {
				t.Errorf("%s: reads without an error", now)
			}
		}); used > 1<<20 {
			t.Errorf("%s: took %d bytes to refuse a file of %d", now, used, len(raw))
		}
	}
	for _, name := range []string{"experts", "experts_to", "experts_sum"} {
		raw := reseal(whole, []byte(strings.Replace(header, `"name":"`+name+`"`, `"name":"other"`, 1)))
		if err := readAll(raw); err == nil || !strings.Contains(err.Error(), "has no column "+name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// FuzzExperts reads any bits as experts. What can be read is written again, and then reads the same.
func FuzzExperts(f *testing.F) {
	b := routed(3, 2, 5, 1, 4)
	k := keeping{model: &model{3, 2, 5}, all: true}
	f.Add(uint8(3), uint8(2), uint16(5), uint16(7), k.pack(nil, 0, &b.Samples[0]))
	b = routed(2, 1, 300, 1, 1)
	k = keeping{model: &model{2, 1, 300}, all: true}
	f.Add(uint8(2), uint8(1), uint16(300), uint16(4), k.pack(nil, 0, &b.Samples[0]))
	f.Add(uint8(255), uint8(255), uint16(1), uint16(65535), []byte{3})
	f.Fuzz(func(t *testing.T, layers, choices uint8, experts, tokens uint16, packed []byte) {
		m := model{int(layers), int(choices), int(experts)}
		if m.check() != nil {
			return
		}
		var c *Chosen
		var err error
		if used := memory(func() { c, err = m.unpack(packed, int64(tokens)) }); used > uint64(64*(len(packed)+8*int(tokens))+1<<16) {
			t.Errorf("took %d bytes to read %d bytes of experts of %d tokens", used, len(packed), tokens)
		}
		if err != nil || c == nil {
			return
		}
		s := Sample{Sample: &rl.Sample{Prompt: &rl.Prompt{Tokens: make([]int32, tokens)}, Experts: c.Routes(ByRollout), TrainExperts: c.Routes(ByTrainer)}}
		if s.Experts == nil && s.TrainExperts == nil {
			return
		}
		k := keeping{model: &m, all: true}
		again, err := m.unpack(k.pack(nil, 0, &s), int64(tokens))
		if err != nil || !reflect.DeepEqual(again.Routes(ByRollout), s.Experts) || !reflect.DeepEqual(again.Routes(ByTrainer), s.TrainExperts) {
			t.Errorf("%d tokens, %v: written again they read otherwise: %v", tokens, m, err)
		}
	})
}

// Experts that the model has not, and bits that nobody writes.
func TestExpertsThatCannotBe(t *testing.T) {
	b := routed(3, 2, 8, 1, 4)
	copy(b.Samples[0].Experts.Rows[6:], []byte{7})
	packed := keeping{model: &model{3, 2, 8}, all: true}.pack(nil, 0, &b.Samples[0])
	if c, err := (model{3, 2, 8}).unpack(packed, 7); c == nil || err != nil {
		t.Fatal(err)
	}
	last := slices.Clone(packed)
	last[len(last)-1] |= 0x80
	for _, tt := range []struct {
		m      model
		packed []byte
		n      int64
		want   string
	}{
		{model{3, 2, 5}, packed, 7, "goes to expert"},
		{model{3, 2, 8}, packed[:len(packed)-1], 7, "end within a token"},
		{model{3, 2, 8}, packed[:1], 70, "want at least two bits each"},
		{model{3, 2, 8}, append(slices.Clone(packed), 0), 7, "bits of"},
		{model{3, 2, 8}, packed, 6, "bits of"},
		{model{3, 2, 8}, last, 7, "not 0"},
		{model{3, 2, 8}, []byte{0}, 0, "bits of"},
	} {
		if _, err := tt.m.unpack(tt.packed, tt.n); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes as %v of %d tokens: %v, want %q", len(tt.packed), tt.m, tt.n, err, tt.want)
		}
	}
}

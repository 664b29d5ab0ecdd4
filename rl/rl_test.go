package rl

import "testing"

func TestVersion(t *testing.T) {
	for _, tt := range []struct {
		epoch, n int
		text     string
	}{{0, 1, "1"}, {0, 0xffffff, "16777215"}, {3, 41, "3.41"}, {255, 1, "255.1"}} {
		v := NewVersion(tt.epoch, tt.n)
		if v.Epoch() != tt.epoch || v.Count() != tt.n || v.String() != tt.text {
			t.Errorf("version %d of epoch %d is %d of %d, prints %q, want %q", tt.n, tt.epoch, v.Count(), v.Epoch(), v, tt.text)
		}
	}
	if NewVersion(1, 5) == NewVersion(0, 5) {
		t.Error("a resumed run repeats a version")
	}
}

func TestOldest(t *testing.T) {
	s := &Sample{Versions: []Span{{NewVersion(0, 7), 3}, {NewVersion(1, 5), 2}, {NewVersion(1, 8), 1}}}
	if got := s.Oldest(); got != NewVersion(1, 5) {
		t.Errorf("oldest is %v, want 1.5", got)
	}
	if got := (&Sample{}).Oldest(); got != 0 {
		t.Errorf("oldest of no tokens is %v, want 0", got)
	}
}

func TestTokensAreTheSamplesOwn(t *testing.T) {
	s := &Sample{Prompt: &Prompt{Tokens: []int32{1, 2}}, Response: []int32{3}}
	all := s.Tokens()
	all[0] = 9
	if len(all) != 3 || s.Prompt.Tokens[0] != 1 {
		t.Errorf("got %v, prompt %v", all, s.Prompt.Tokens)
	}
}

func TestInvTemperature(t *testing.T) {
	for temperature, want := range map[float64]float32{0: 1, 1: 1, 2: 0.5, 0.5: 2} {
		if got := (Sampling{Temperature: temperature}).InvTemperature(); got != want {
			t.Errorf("temperature %v multiplies logits with %v, want %v", temperature, got, want)
		}
	}
}

// The first numbers of SplitMix64 from 0, as its authors' program prints them, are those that 0 and its counter give.
func TestMixSeed(t *testing.T) {
	counter := uint64(0)
	for _, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := MixSeed(0, counter); got != want {
			t.Errorf("MixSeed(0, %#x) = %#x, want %#x", counter, got, want)
		}
		counter += 0x9e3779b97f4a7c15
	}
	if a, b := MixSeed(1, 2, 3), MixSeed(MixSeed(1, 2), 3); a != b {
		t.Errorf("two numbers at once give %#x, one after the other %#x", a, b)
	}
	if got := MixSeed(7); got != 7 {
		t.Errorf("nothing mixed into 7 gives %d", got)
	}
}

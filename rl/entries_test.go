package rl

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// choice returns so many of n entries, ascending, in one of several manners.
func choice(r *rand.Rand, n, k int, how string) []int32 {
	out := make([]int32, k)
	switch how {
	case "first":
		for i := range out {
			out[i] = int32(i)
		}
	case "last":
		for i := range out {
			out[i] = int32(n - k + i)
		}
	case "even":
		for i := range out {
			out[i] = int32(i * n / k)
		}
	case "one gap":
		cut := r.IntN(k + 1)
		for i := range out {
			out[i] = int32(i)
			if i >= cut {
				out[i] += int32(n - k)
			}
		}
	default:
		for i, v := range r.Perm(n)[:k] {
			out[i] = int32(v)
		}
		slices.Sort(out)
	}
	return out
}

var manners = []string{"random", "first", "last", "even", "one gap"}

// Whatever an indexer chooses comes back, row after row, and takes at most a quarter of int32 up to 128k tokens.
func TestEntriesComeBack(t *testing.T) {
	const rate, longest = 4, 128 << 10
	r := rand.New(rand.NewPCG(2, 2))
	for _, most := range []int{1, 4, 512, 1024} {
		e := NewEntries([]int{3}, rate, most)
		bound := e.MostBytes(longest)
		if most >= 512 && bound > most {
			t.Errorf("most %d: a row of %d tokens takes up to %d bytes, want at most %d: a quarter of int32", most, longest, bound, most)
		}
		for _, n := range []int{0, 1, most - 1, most, most + 1, most + 2, 2*most - 1, 2 * most, 2*most + 1, 5 * most, 20 * most, longest / rate} {
			if n < 0 || n*rate > longest {
				continue
			}
			for _, how := range manners {
				want, pos := choice(r, n, min(n, most), how), n*rate-1+r.IntN(rate)
				row := e.Pack([]byte{7}, pos, append(slices.Clone(want), -1, -1))
				switch size := len(row) - 1; {
				case n <= most && size != 0:
					t.Errorf("most %d: all of %d entries take %d bytes, want none", most, n, size)
				case size > bound, most >= 512 && size > min(most, (n+7)/8):
					t.Errorf("most %d, %d entries, %s: %d bytes, want at most %d, %d and those of a bitmap", most, n, how, size, bound, most)
				}
				got, rest, err := e.Unpack([]int32{-5}, pos, append(row[1:], 9, 9))
				if err != nil || !slices.Equal(got[1:], want) || !slices.Equal(rest, []byte{9, 9}) {
					t.Fatalf("most %d, %d entries, %s: %v comes back as %v, %v (%v)", most, n, how, want, got, rest, err)
				}
			}
		}
	}
}

// The choices of whole samples take far less than a quarter of int32, since a token that reads all it sees takes nothing.
func TestEntriesOfASampleAreSmall(t *testing.T) {
	const rate, most = 4, 512
	r := rand.New(rand.NewPCG(3, 3))
	e := NewEntries([]int{0}, rate, most)
	for _, length := range []int{2 << 10, 4 << 10, 16 << 10, 128 << 10} {
		bytes, choices := 0, 0
		for pos := 0; pos < length; pos += 61 {
			n := e.sees(pos)
			bytes += len(e.Pack(nil, pos, choice(r, n, min(n, most), "random")))
			choices += most
		}
		share := float64(bytes) / float64(4*choices)
		t.Logf("%6d tokens: %.1f %% of int32", length, 100*share)
		if share > 0.25 {
			t.Errorf("%d tokens: %.3f of int32, want at most a quarter", length, share)
		}
	}
}

func TestEntriesAreHeldToTheRule(t *testing.T) {
	e := NewEntries([]int{1}, 2, 3)
	for _, numbers := range [][]int32{{0, 1}, {0, 1, 2, 3}, {2, 1, 0}, {1, 1, 2}, {0, 1, 5}} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, "want 3 ascending numbers below 5") {
					t.Errorf("%v: %v", numbers, r)
				}
			}()
			e.Pack(nil, 9, numbers)
		}()
	}
	if !e.Drops(7) || e.Drops(6) {
		t.Error("a token drops entries when it sees more than 3")
	}
}

func TestEntriesOfAnotherModel(t *testing.T) {
	make := func() *Entries {
		e := NewEntries([]int{1, 3}, 2, 3)
		for pos := range 12 {
			n := e.sees(pos)
			row := e.Pack(nil, pos, choice(rand.New(rand.NewPCG(4, uint64(pos))), n, min(n, 3), ""))
			e.Add(row, row)
		}
		return e
	}
	if err := make().Check([]int{1, 3}, 2, 3); err != nil || make().Len() != 12 || make().Place(3) != 1 || make().Place(2) != -1 {
		t.Errorf("good entries: %v", err)
	}
	for want, spoil := range map[string]func(e *Entries){
		"entries are 4 of windows":                    func(e *Entries) { e.Most = 4 },
		"layer 3: the token at 11: its row":           func(e *Entries) { e.Rows[1] = e.Rows[1][:len(e.Rows[1])-1] },
		"layer 1: 1 bytes follow":                     func(e *Entries) { e.Rows[0] = append(e.Rows[0], 0) },
		"layer 1: the token at 7: its row of entries": func(e *Entries) { clear(e.Rows[0]) },
	} {
		e := make()
		if spoil(e); e.Check([]int{1, 3}, 2, 3) == nil || !strings.HasPrefix(e.Check([]int{1, 3}, 2, 3).Error(), want) {
			t.Errorf("%v, want %s...", e.Check([]int{1, 3}, 2, 3), want)
		}
	}
	raw, err := json.Marshal(make())
	var back *Entries
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil || !reflect.DeepEqual(back, make()) {
		t.Errorf("after a trip through JSON: %v, %v", back, err)
	}
}

// Whatever bytes a row has, reading it ends, within its bounds.
func FuzzEntries(f *testing.F) {
	f.Add([]byte{0xff, 0x01, 0, 7}, uint16(40), uint8(3))
	f.Fuzz(func(t *testing.T, rows []byte, pos uint16, most uint8) {
		e := NewEntries([]int{0}, 2, int(most))
		got, rest, err := e.Unpack(nil, int(pos), rows)
		if err != nil {
			return
		}
		if !chosen(got, e.sees(int(pos)), min(e.sees(int(pos)), int(most))) {
			t.Fatalf("%v at %d of %d", got, pos, most)
		}
		if used := rows[:len(rows)-len(rest)]; len(used) != len(e.Pack(nil, int(pos), got)) {
			t.Fatalf("%d bytes are read for %v, %d are written", len(used), got, len(e.Pack(nil, int(pos), got)))
		}
	})
}

func BenchmarkPackEntries(b *testing.B) {
	e, pos := NewEntries([]int{0}, 4, 512), 32<<10
	numbers := choice(rand.New(rand.NewPCG(5, 5)), e.sees(pos), 512, "")
	var row []byte
	b.ReportAllocs()
	for b.Loop() {
		row = e.Pack(row[:0], pos, numbers)
	}
}

func BenchmarkUnpackEntries(b *testing.B) {
	e, pos := NewEntries([]int{0}, 4, 512), 32<<10
	row := e.Pack(nil, pos, choice(rand.New(rand.NewPCG(5, 5)), e.sees(pos), 512, ""))
	var numbers []int32
	b.ReportAllocs()
	for b.Loop() {
		numbers, _, _ = e.Unpack(numbers[:0], pos, row)
	}
}

package kv

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/ops"
	"furlong/tensor"
)

// whole returns tokens of whole sequences; each sequence is a pair of its number and its length.
func whole(sequences ...[2]int) *ops.Tokens {
	in := &ops.Tokens{}
	for _, s := range sequences {
		for p := range s[1] {
			in.Seq, in.Pos = append(in.Seq, int32(s[0])), append(in.Pos, int32(p))
		}
	}
	return in
}

func TestReachOf(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reach Reach
		want  [][2]int32 // of positions 0, 1, ...
	}{
		{"the token itself", Sliding(1), [][2]int32{{0, 1}, {1, 2}, {2, 3}}},
		{"itself and two before", Sliding(3), [][2]int32{{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 5}}},
		{"tokens of a window", Span(4), [][2]int32{{0, 4}, {4, 8}, {8, 12}}},
		{"tokens of the window before", SpanBefore(4), [][2]int32{{0, 0}, {0, 4}, {4, 8}}},
		{"closed windows", Before(3), [][2]int32{{0, 0}, {0, 0}, {0, 1}, {0, 1}, {0, 1}, {0, 2}}},
		{"windows of one token", Before(1), [][2]int32{{0, 1}, {0, 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for p, want := range tt.want {
				if lo, hi := tt.reach.Of(int32(p)); lo != want[0] || hi != want[1] {
					t.Errorf("Of(%d) = %d to %d, want %d to %d", p, lo, hi, want[0], want[1])
				}
			}
		})
	}
}

func TestInPlaceViews(t *testing.T) {
	two := whole([2]int{4, 5}, [2]int{9, 3}) // rows 0 to 4 are sequence 4's, rows 5 to 7 sequence 9's
	four := whole([2]int{0, 3}, [2]int{1, 4}, [2]int{2, 1}, [2]int{3, 9})
	for _, tt := range []struct {
		name  string
		put   *ops.Tokens
		see   *ops.Tokens
		reach Reach
		want  string // rows of each token
	}{
		{"sliding", two, two, Sliding(3), "[0] [0 1] [0 1 2] [1 2 3] [2 3 4] | [5] [5 6] [5 6 7]"},
		{"itself only", two, two, Sliding(1), "[0] [1] [2] [3] [4] | [5] [6] [7]"},
		{"longer than any", two, two, Sliding(100), "[0] [0 1] [0 1 2] [0 1 2 3] [0 1 2 3 4] | [5] [5 6] [5 6 7]"},
		{"span", two, two.Closed(2), Span(2), "[0 1] [2 3] | [5 6]"},
		{"span before", two, two.Closed(2), SpanBefore(2), "[] [0 1] | []"},
		{"closed windows", two.Closed(2), two, Before(2), "[] [0] [0] [0 1] [0 1] | [] [2] [2]"},
		{"span, sequences without a window", four, four.Closed(4), Span(4), "[3 4 5 6] | [8 9 10 11] [12 13 14 15]"},
		{"span before, sequences without a window", four, four.Closed(4), SpanBefore(4), "[] | [] [8 9 10 11]"},
		{
			"closed windows, sequences without one", four.Closed(4), four, Before(4),
			"[] [] [] | [] [] [] [0] | [] | [] [] [] [1] [1] [1] [1] [1 2] [1 2]",
		},
		{"no windows at all", two.Closed(8), two, Before(8), "[] [] [] [] [] | [] [] []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s InPlace
			rows := tensor.New(dtype.F32, tt.put.Len(), 1)
			s.Put(tt.put, Window, rows)
			v := s.See(tt.see, Window, tt.reach)
			if v.Pool != rows {
				t.Error("the pool isn't the tensor that was put")
			}
			if got := shown(tt.see, v); got != tt.want {
				t.Errorf("tokens read\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

// shown prints each token's rows, a bar between sequences.
func shown(in *ops.Tokens, v ops.View) string {
	var parts []string
	for t := range in.Len() {
		if t > 0 && in.Seq[t] != in.Seq[t-1] {
			parts = append(parts, "|")
		}
		parts = append(parts, fmt.Sprint(v.At(t)))
	}
	return strings.Join(parts, " ")
}

// A view stays linear in the length of a sequence: tokens share its rows.
func TestViewsShareRows(t *testing.T) {
	in := whole([2]int{0, 300}, [2]int{1, 200})
	var s InPlace
	s.Put(in, Window, tensor.New(dtype.F32, in.Len(), 1))
	if v := s.See(in, Window, Sliding(100)); len(v.Rows) != in.Len() {
		t.Errorf("%d rows listed for %d tokens, want as many", len(v.Rows), in.Len())
	}
}

// Whatever the reach, no token reads a row of another sequence, or of a token after it.
func TestPackedSequencesDoNotSeeEachOther(t *testing.T) {
	in := whole([2]int{3, 7}, [2]int{1, 1}, [2]int{2, 12}, [2]int{8, 4})
	for _, tt := range []struct {
		reach Reach
		put   *ops.Tokens
		rate  int32
	}{
		{Sliding(1), in, 1},
		{Sliding(5), in, 1},
		{Sliding(50), in, 1},
		{Before(2), in.Closed(2), 2},
		{Before(4), in.Closed(4), 4},
		{Before(5), in.Closed(5), 5},
	} {
		var s InPlace
		s.Put(tt.put, Compressed, tensor.New(dtype.F32, tt.put.Len(), 1))
		v := s.See(in, Compressed, tt.reach)
		for i := range in.Len() {
			for _, r := range v.At(i) {
				if seq, last := tt.put.Seq[r], (tt.put.Pos[r]+1)*tt.rate-1; seq != in.Seq[i] || last > in.Pos[i] {
					t.Errorf("%v: token %d of sequence %d reads a row of sequence %d that ends at %d", tt.reach, in.Pos[i], in.Seq[i], seq, last)
				}
			}
		}
	}
}

func TestInPlaceStreamsAreApart(t *testing.T) {
	var s InPlace
	var rows [numStreams]*tensor.Tensor
	in := whole([2]int{0, 2})
	for st := range numStreams {
		rows[st] = tensor.New(dtype.F32, 2, 1)
		s.Put(in, st, rows[st])
	}
	for st := range numStreams {
		if s.See(in, st, Sliding(1)).Pool != rows[st] {
			t.Errorf("%v shows another stream's rows", st)
		}
	}
}

// A layer that is computed again puts its rows again.
func TestInPlacePutReplaces(t *testing.T) {
	var s InPlace
	first, second := tensor.New(dtype.F32, 3, 1), tensor.New(dtype.F32, 4, 1)
	s.Put(whole([2]int{0, 1}, [2]int{5, 2}), Raw, first)
	in := whole([2]int{5, 4})
	s.Put(in, Raw, second)
	v := s.See(in, Raw, Sliding(2))
	if got, want := shown(in, v), "[0] [0 1] [1 2] [2 3]"; v.Pool != second || got != want {
		t.Errorf("tokens read %s of the new rows: %v, want %s", got, v.Pool == second, want)
	}
}

func TestInPlaceRefusals(t *testing.T) {
	three := whole([2]int{6, 3}, [2]int{7, 3})
	for _, tt := range []struct {
		name string
		run  func(*InPlace)
		want string
	}{
		{"part of a sequence", func(s *InPlace) {
			s.Put(&ops.Tokens{Seq: []int32{6}, Pos: []int32{4}}, Raw, tensor.New(dtype.F32, 1, 1))
		}, "kv: in place: sequence 6 starts at position 4 of raw, want 0"},
		{
			"a stream that was never put", func(s *InPlace) { s.See(three, Index, Sliding(1)) },
			"kv: in place: position 2 of sequence 6 in index, want less than 0",
		},
		{
			"a sequence that was never put", func(s *InPlace) { s.See(whole([2]int{8, 1}), Raw, Sliding(1)) },
			"kv: in place: position 0 of sequence 8 in raw, want less than 0",
		},
		{
			"more tokens than were put", func(s *InPlace) { s.See(whole([2]int{6, 4}), Raw, Sliding(1)) },
			"kv: in place: position 3 of sequence 6 in raw, want less than 3",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("panics with %v, want %v", got, tt.want)
				}
			}()
			var s InPlace
			s.Put(three, Raw, tensor.New(dtype.F32, 6, 1))
			tt.run(&s)
		})
	}
}

// fill reuses a view's memory; what the view held before must not matter.
func TestFillReusesMemory(t *testing.T) {
	at := func(rows []int32, seq, lo, hi int32) []int32 {
		for i := lo; i < hi; i++ {
			rows = append(rows, 100*seq+i)
		}
		return rows
	}
	big, small := whole([2]int{1, 40}, [2]int{2, 30}), whole([2]int{3, 2}, [2]int{1, 3})
	var v ops.View
	fill(&v, big, Sliding(7), at)
	before := &v.Rows[0]
	fill(&v, small, Sliding(2), at)
	want := see(small, nil, Sliding(2), at)
	if !reflect.DeepEqual(v.Rows, want.Rows) || !reflect.DeepEqual(v.Lo, want.Lo) || !reflect.DeepEqual(v.Hi, want.Hi) {
		t.Errorf("filled again: %v, want %v", v, want)
	}
	if &v.Rows[0] != before {
		t.Error("a smaller view took new memory")
	}
}

func TestStreamNames(t *testing.T) {
	seen := map[string]bool{}
	for st := range numStreams {
		if st.String() == "" || seen[st.String()] {
			t.Errorf("stream %d is called %q, want a name of its own", st, st)
		}
		seen[st.String()] = true
	}
}

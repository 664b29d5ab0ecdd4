package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// draw returns n lengths, log-normal with a median of 700 tokens, as answers of a model that thinks have; none above most.
func draw(r *rand.Rand, n int, spread float64, most int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = min(most, 1+int(700*math.Exp(spread*r.NormFloat64())))
	}
	return out
}

// inOrder returns the number of micro-batches of samples that are packed as they come.
func inOrder(lengths []int, budget int) (n int) {
	room := 0
	for i, l := range lengths {
		if i == 0 || l > room {
			n, room = n+1, budget
		}
		room -= l
	}
	return n
}

// must returns a plan, of which everything holds that holds for all lengths.
func must(t *testing.T, lengths []int, c Config) Plan {
	t.Helper()
	p, err := New(lengths, c)
	if err != nil {
		t.Fatal(err)
	}
	check(t, lengths, c, p)
	return p
}

// check says what of the promises a plan breaks.
func check(t *testing.T, lengths []int, c Config, p Plan) {
	t.Helper()
	if len(p.Ranks) != c.Ranks {
		t.Fatalf("%d ranks, want %d", len(p.Ranks), c.Ranks)
	}
	times, empty, several := make([]int, len(lengths)), 0, 0
	for r, all := range p.Ranks {
		if len(all) != p.MicroBatches() {
			t.Errorf("%+v: rank %d has %d micro-batches, and rank 0 %d", c, r, len(all), p.MicroBatches())
		}
		if len(all) == 0 || len(all[0].Samples) == 0 {
			t.Errorf("%+v: rank %d has no sample", c, r)
		}
		for i, m := range all {
			sum := 0
			switch len(m.Samples) {
			case 0:
				empty++
			case 1:
			default:
				several++
			}
			for _, s := range m.Samples {
				times[s]++
				sum += lengths[s]
			}
			if sum != m.Tokens || !slices.IsSorted(m.Samples) {
				t.Errorf("%+v: micro-batch %v says %d tokens, want %d, samples ascending", c, m.Samples, m.Tokens, sum)
			}
			if sum > c.Budget && len(m.Samples) > 1 {
				t.Errorf("%+v: %d samples have %d tokens together", c, len(m.Samples), sum)
			}
			if i > 0 && all[i-1].Tokens < m.Tokens {
				t.Errorf("%+v: rank %d: a micro-batch of %d tokens before one of %d", c, r, all[i-1].Tokens, m.Tokens)
			}
		}
	}
	if empty > 0 && several > 0 {
		t.Errorf("%+v: %d micro-batches are empty, and %d of several samples could be parted", c, empty, several)
	}
	for i, n := range times {
		if n != 1 {
			t.Errorf("%+v: sample %d is in %d micro-batches", c, i, n)
		}
	}
}

// What holds of every plan holds for lengths of all kinds, at budgets from below the shortest to above the sum.
func TestPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		n := 1 + r.IntN(80)
		lengths := draw(r, n, 2*r.Float64(), 1+r.IntN(10_000))
		if r.IntN(4) == 0 {
			for i := range lengths {
				lengths[i] = 1 + r.IntN(3) // many equal ones
			}
		}
		for _, deal := range []Deal{Balanced, InTurn} {
			c := Config{Ranks: 1 + r.IntN(n), Budget: 1 << r.IntN(18), Deal: deal}
			p := must(t, lengths, c)
			if again := must(t, slices.Clone(lengths), c); !reflect.DeepEqual(again, p) {
				t.Errorf("%+v: equal lengths make two plans", c)
			}
		}
	}
}

// Evening out may stop at any time: the plan is one all the same.
func TestEveningStops(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	stopped := 0
	for range 300 {
		lengths, c := draw(r, 40+r.IntN(40), 1, 4000), Config{Ranks: 2 + r.IntN(10), Budget: 4000}
		all := divide(firstFit(lengths, c.Budget), lengths, c.Ranks)
		fullestFirst(all)
		p, e := Plan{balance(all, c.Ranks)}, evening{lengths, c.Budget, r.IntN(400)}
		before := p.Imbalance()
		e.do(p.Ranks)
		check(t, lengths, c, p)
		if got := p.Imbalance(); got > before {
			t.Errorf("imbalance went from %v to %v", before, got)
		}
		if e.left <= 0 {
			stopped++
		}
		if e.left < -100 { // what two micro-batches of up to nine samples have to offer
			t.Errorf("%d samples and pairs looked at beyond the last", -e.left)
		}
		if left := e.left; left <= 0 {
			if e.do(p.Ranks); e.left != left {
				t.Errorf("%d samples and pairs looked at after all that may be", left-e.left)
			}
		}
	}
	if stopped < 50 || stopped > 250 {
		t.Errorf("%d of 300 stopped before their time, want some and not all", stopped)
	}
}

// Ranks of steps as they are taken have at most a tenth more to do than the mean, at any budget, if there are sixteen samples for each: fewer can't be dealt out so
// evenly, where the longest alone is above the mean.
func TestBalance(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, n := range []int{64, 128, 256, 512, 1024} {
		for ranks := 2; ranks <= n/16; ranks *= 2 {
			for _, budget := range []int{2048, 8192, 16384, 32768} {
				for range 4 {
					c := Config{Ranks: ranks, Budget: budget}
					if got := must(t, draw(r, n, 0.8, 4096), c).Imbalance(); got > 1.1 {
						t.Errorf("%d samples, %+v: imbalance %.3f, want at most 1.1", n, c, got)
					}
				}
			}
		}
	}
}

// Balanced ranks are not further apart than those that are dealt to in turn.
func TestBalancedBeatsInTurn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	better := 0
	for range 100 {
		lengths := draw(r, 128, 0.8, 4096)
		a := must(t, lengths, Config{Ranks: 8, Budget: 8192}).Imbalance()
		b := must(t, lengths, Config{Ranks: 8, Budget: 8192, Deal: InTurn}).Imbalance()
		if a > max(b, 1.01) {
			t.Errorf("imbalance %v, and %v in turn", a, b)
		}
		if a < b {
			better++
		}
	}
	if better < 90 {
		t.Errorf("balanced is better for %d of 100 steps, want at least 90", better)
	}
}

// First-fit decreasing takes no more micro-batches of such lengths than packing in order. That is no law, as the last test shows; the law is its bound.
func TestPackingIsTight(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	saved := 0
	for range 200 {
		budget := 1024 << r.IntN(6)
		lengths := draw(r, 32+r.IntN(500), 0.4+r.Float64(), 8192)
		got, want := len(firstFit(lengths, budget)), inOrder(lengths, budget)
		if got > want {
			t.Errorf("%d samples, budget %d: %d micro-batches, and %d in order", len(lengths), budget, got, want)
		}
		saved += want - got
	}
	if saved < 1000 {
		t.Errorf("%d micro-batches saved, want more than 1000", saved)
	}
}

// 12 tokens hold 4+5+3 and 3+3+6. The longest first they are 6+5, 4+3+3 and 3.
func TestInOrderCanBeTighter(t *testing.T) {
	lengths := []int{4, 5, 3, 3, 3, 6}
	if got, order := len(firstFit(lengths, 12)), inOrder(lengths, 12); got != 3 || order != 2 {
		t.Errorf("%d micro-batches, and %d in order, want 3 and 2", got, order)
	}
	r := rand.New(rand.NewPCG(5, 1))
	for range 2000 {
		budget := 6 + r.IntN(20)
		lengths := make([]int, 1+r.IntN(60))
		for i := range lengths {
			lengths[i] = 1 + r.IntN(budget)
		}
		// No packing is better than the best, so the bound over the best holds over any.
		if got, most := len(firstFit(lengths, budget)), (11*inOrder(lengths, budget)+6)/9; got > most {
			t.Errorf("budget %d, lengths %v: %d micro-batches, want at most %d", budget, lengths, got, most)
		}
	}
}

func TestPlansByHand(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lengths []int
		c       Config
		want    string
	}{
		{"one rank", []int{3, 5, 2, 4}, Config{Ranks: 1, Budget: 8}, "[[[0 1] 8] [[2 3] 6]]"},
		{"first that has room", []int{6, 3, 5, 2}, Config{Ranks: 1, Budget: 9}, "[[[0 1] 9] [[2 3] 7]]"},
		{"over the budget", []int{2, 20, 3}, Config{Ranks: 1, Budget: 8}, "[[[1] 20] [[0 2] 5]]"},
		{"ties by order", []int{4, 4, 4, 4}, Config{Ranks: 2, Budget: 8}, "[[[0 1] 8]] [[[2 3] 8]]"},
		{"parted", []int{4, 4, 4, 4}, Config{Ranks: 2, Budget: 100}, "[[[0 2] 8]] [[[1 3] 8]]"},
		{"the fullest is parted", []int{9, 5, 4, 2, 1}, Config{Ranks: 2, Budget: 9, Deal: InTurn}, "[[[0] 9] [[2] 4]] [[[1] 5] [[3 4] 3]]"},
		{"made up with empty ones", []int{7, 6, 5}, Config{Ranks: 2, Budget: 7}, "[[[1] 6] [[2] 5]] [[[0] 7] [[] 0]]"},
		{"differencing", []int{8, 7, 6, 5}, Config{Ranks: 2, Budget: 8}, "[[[0] 8] [[3] 5]] [[[1] 7] [[2] 6]]"},
		{"in turn", []int{8, 7, 6, 5}, Config{Ranks: 2, Budget: 8, Deal: InTurn}, "[[[0] 8] [[2] 6]] [[[1] 7] [[3] 5]]"},
	} {
		var got []string
		for _, all := range must(t, tt.lengths, tt.c).Ranks {
			var s []string
			for _, m := range all {
				s = append(s, fmt.Sprintf("[%v %d]", m.Samples, m.Tokens))
			}
			got = append(got, fmt.Sprint(s))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: plan is %v, want %v", tt.name, strings.Join(got, " "), tt.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		lengths []int
		c       Config
		want    string
	}{
		{[]int{5, 5}, Config{Ranks: 3, Budget: 8}, "2 samples for 3 ranks, want at least one for each"},
		{nil, Config{Ranks: 1, Budget: 8}, "0 samples for 1 ranks, want at least one for each"},
		{[]int{5}, Config{Ranks: 0, Budget: 8}, "0 ranks, want at least 1"},
		{[]int{5}, Config{Ranks: 1}, "a budget of 0 tokens a micro-batch, want at least 1"},
		{[]int{5, 0, -1}, Config{Ranks: 1, Budget: 8}, "sample 1 has 0 tokens, want at least 1"},
		{[]int{5, -1}, Config{Ranks: 1, Budget: 8}, "sample 1 has -1 tokens, want at least 1"},
		{[]int{math.MaxInt, 1}, Config{Ranks: 1, Budget: 8}, "samples 0 to 0 have more than 1152921504606846976 tokens together, which is beyond counting"},
		{[]int{1 << 60, 1}, Config{Ranks: 1, Budget: 8}, "samples 0 to 1 have more than 1152921504606846976 tokens together, which is beyond counting"},
		{[]int{5}, Config{Ranks: 1, Budget: 8, Deal: 2}, "deal 2, want 0 (balanced) or 1 (in turn)"},
		{[]int{0}, Config{Ranks: -1, Budget: -1}, "-1 ranks, want at least 1\na budget of -1 tokens a micro-batch, want at least 1\nsample 0 has 0 tokens, want at least 1"},
	} {
		p, err := New(tt.lengths, tt.c)
		if err == nil || err.Error() != tt.want || p.Ranks != nil {
			t.Errorf("New(%v, %+v) = %v, %v, want error %q", tt.lengths, tt.c, p, err, tt.want)
		}
	}
	if p, err := New([]int{1<<60 - 1, 1}, Config{Ranks: 2, Budget: math.MaxInt}); err != nil || p.MicroBatches() != 1 {
		t.Errorf("as many tokens as can be counted: %v, %v, want a plan of one micro-batch each", p, err)
	}
}

func ExampleNew() {
	p, err := New([]int{900, 350, 400, 4100, 120, 2600, 500, 700}, Config{Ranks: 2, Budget: 3000})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, all := range p.Ranks {
		fmt.Println("rank", r, all)
	}
	fmt.Printf("imbalance %.2f\n", p.Imbalance())
	// Output:
	// rank 0 [{[5] 2600} {[0 4 6 7] 2220}]
	// rank 1 [{[3] 4100} {[1 2] 750}]
	// imbalance 1.00
}

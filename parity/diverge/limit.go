package diverge

import (
	"fmt"
	"math"
	"strings"

	"furlong/dtype"
	"furlong/parity/taps"
	"furlong/quant"
)

// Formats are how a side holds numbers, as far as it changes them.
type Formats struct {
	Weights     string // recipe of projections and experts: bf16 (not quantised), fp8, fp8+fp4, fp8-weights, ...; "" is bf16
	Plain       string // format to which the values of all other matrices were rounded: F32 or BF16; "" is F32
	FP8         bool   // attention state is kept as an FP8 cache keeps it
	Wide        bool   // arithmetic in float64
	Activations string // what results are rounded to between ops: F32 or BF16; "" is F32
}

// How far rounding to a format moves numbers from a normal distribution, root mean square over that of the numbers: TestNoiseIsAsMeasured. The
// reference vectors have 1.9 % for products of E4M3 weights, 3.6 % with inputs in E4M3, too, 6.3 % with weights in E2M1 whose values fit it better.
const (
	noiseBF16 = 0.00166
	noiseE4M3 = 0.0265
	noiseE2M1 = 0.115
)

// eps is the unit of rounding of float32.
const eps = 0x1p-24

// spread is how far the worst row may be above what formats do to rows on average. Of rows of 4 to 640 elements the worst of 48 was up to 3.3 times
// that in sixteen small models (TestFormatsAreNoMistake has some of them); weights with heavier tails get a third more.
const spread = 4.5

// A rounding is what float32 makes of equal inputs in another order of sums, in units of eps: constant, and times the root of the number of terms. The worst
// row of six small and six larger models, float32 against float64, was at a third of these or below (TestRoundingIsWithin).
type rounding struct{ constant, terms float64 }

var roundings = map[taps.Kind]rounding{
	taps.Move:     {24, 0},
	taps.Norm:     {10, 2},
	taps.Product:  {10, 4},
	taps.Mix:      {24, 2},
	taps.Maps:     {20, 6},
	taps.Gate:     {16, 0},
	taps.Sum:      {8, 0},
	taps.Choose:   {16, 4},
	taps.LogProbs: {8, 4},
}

// steady is how much of float32 rounding may be common to all elements of a boundary: of constants rounded once, and of functions computed otherwise.
const steady = 4 * eps

// someTerms is the length of a sum where it is not known.
const someTerms = 256

// Limits say what differences rounding explains between a judge and a side.
type Limits struct {
	judge, side side
}

// A side is Formats, read.
type side struct {
	Formats
	recipe quant.Recipe
}

func (f Formats) read() (side, error) {
	s := side{Formats: f}
	if f.Weights != "" {
		r, err := quant.ParseRecipe(f.Weights)
		if err != nil {
			return side{}, err
		}
		s.recipe = r
	}
	for _, name := range []string{f.Plain, f.Activations} {
		if name != "" && name != dtype.F32.String() && name != dtype.BF16.String() {
			return side{}, fmt.Errorf("format is %q, want F32 or BF16", name)
		}
	}
	return s, nil
}

// NewLimits returns the limits between a judge and a side of these formats.
func NewLimits(judge, of Formats) (*Limits, error) {
	a, err := judge.read()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	b, err := of.read()
	if err != nil {
		return nil, fmt.Errorf("side: %w", err)
	}
	return &Limits{a, b}, nil
}

// Equal reports whether both sides hold all numbers alike, so that nothing but the order of sums can differ.
func (l *Limits) Equal() bool {
	a, b := l.judge, l.side
	a.Wide, b.Wide = false, false
	return a == b
}

// A Limit is how much of a difference rounding explains.
type Limit struct {
	Value  float64
	Steady float64 // of what is common to all elements; +Inf where formats differ, which may have such a part
	Reason string
}

// Of returns the limit of a difference.
func (l *Limits) Of(d *taps.Diff) Limit {
	base, squares, why := 0.0, 0.0, map[string]bool{}
	for i, b := range covered(d) {
		r := roundings[b.Kind]
		terms := float64(d.Terms)
		if i > 0 || d.Terms == 0 { // of what is spanned the lengths are not known, nor any without a judge
			terms = max(terms, someTerms)
		}
		base += eps * (r.constant + r.terms*math.Sqrt(terms))
		squares += l.noise(b, why)
	}
	if turns(d.Name) && l.judge.Wide != l.side.Wide {
		base += eps * float64(d.Position(max(0, len(d.Errors)-1))) // angles are rounded to float32 on one side
	}
	if d.Name == taps.LogProb {
		base *= max(1, d.Size)
		squares *= max(1, d.Size*d.Size)
	}
	limit := Limit{Value: base, Steady: steady + base/math.Sqrt(max(1, float64(len(d.Errors)))), Reason: fmt.Sprintf("float32 rounding of sums of %d terms", max(1, d.Terms))}
	if squares > 0 {
		limit = Limit{base + spread*math.Sqrt(squares), math.Inf(1), fmt.Sprintf("%g times the noise of %s", spread, strings.Join(sorted(why), ", "))}
	}
	return limit
}

// covered returns the boundary of a difference, and those that it spans.
func covered(d *taps.Diff) []taps.Boundary {
	list := []taps.Boundary{d.Boundary()}
	for _, title := range d.Spans {
		b, ok := taps.BoundaryOf(afterLayer(title))
		if ok {
			list = append(list, b)
		}
	}
	return list
}

// afterLayer cuts the layer from a title: attn_hc.pre of L3.attn_hc.pre.
func afterLayer(title string) string {
	if _, ok := taps.BoundaryOf(title); ok {
		return title
	}
	_, name, _ := strings.Cut(title, ".")
	return name
}

// turns reports whether a boundary turns rows by angles that grow with the position.
func turns(name string) bool {
	switch name {
	case "q", "kv", "compressed_kv", "index_keys", "index_q", "attn_turned":
		return true
	}
	return false
}

// noise returns the square of what the two sides' formats make of one op, and notes why.
func (l *Limits) noise(b taps.Boundary, why map[string]bool) float64 {
	sum := 0.0
	add := func(differ bool, noise float64, reason string) {
		if differ && noise > 0 {
			sum += noise * noise
			why[reason] = true
		}
	}
	a, c := l.judge, l.side
	if b.Weight != "" {
		fa, fc := a.weight(b.Weight), c.weight(b.Weight)
		differ := fa != fc
		add(differ, fa.noise, fa.name+" weights")
		add(differ, fc.noise, fc.name+" weights")
		add(fa.rounds != fc.rounds, noiseE4M3, "inputs rounded to FP8")
	}
	add(b.Name == "attn_mix" && a.FP8 != c.FP8, 2*noiseE4M3, "an FP8 cache") // as keys and as values
	add(a.Activations != c.Activations, 2*noiseBF16, "results rounded to BF16")
	return sum
}

// A held is how a side holds one weight.
type held struct {
	name   string
	noise  float64
	rounds bool
}

// weight returns how a side holds the weight of a boundary.
func (s side) weight(name string) held {
	if !strings.HasPrefix(name, "model.") && !strings.HasPrefix(name, "lm_head.") {
		name = "model.layers.0." + name
	}
	f := s.recipe.Format(name)
	switch f.Code {
	case dtype.E4M3, dtype.E4M3FNUZ:
		return held{f.String(), noiseE4M3, s.recipe.Rounds}
	case dtype.E2M1:
		return held{f.String(), noiseE2M1, s.recipe.Rounds}
	}
	if s.Plain == dtype.BF16.String() {
		return held{"BF16", noiseBF16, false}
	}
	return held{name: "F32"}
}

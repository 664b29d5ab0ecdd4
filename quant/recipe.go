package quant

import (
	"fmt"
	"iter"
	"strings"

	"furlong/dtype"
	"furlong/tensor"
)

// A Recipe says which weights of a model are stored how. The zero Recipe is bf16: none is quantised. Weights that a Recipe does not
// quantise keep the format that the model gave them.
type Recipe struct {
	Dense   Format // of the projections and shared experts that quantise
	Experts Format // of the routed experts
	Rounds  bool   // products with these weights take their activations rounded to E4M3
}

// recipes are the names in use, and the formats behind the words of others.
var words = map[string]Format{"bf16": {}, "fp8": FP8, "fp4": FP4}

// The parts of a recipe's name: DENSE+EXPERTS, where the second may be left out if it is the first, and endings.
const (
	wideScales  = "-f32scales" // E4M3 blocks have float32 scales
	weightsOnly = "-weights"   // activations are not rounded
)

// ParseRecipe returns the recipe of a name: bf16, fp8, or fp8+fp4, which is FP8 with routed experts in FP4. An ending -weights leaves
// activations as they are; -f32scales, before it, gives FP8 float32 scales. bf16+fp8 and bf16+fp4 quantise routed experts alone, and
// fp8+bf16 all but them.
func ParseRecipe(name string) (Recipe, error) {
	rest, weights := strings.CutSuffix(name, weightsOnly)
	rest, wide := strings.CutSuffix(rest, wideScales)
	first, second, both := strings.Cut(rest, "+")
	if !both {
		second = first
	}
	dense, okDense := words[first]
	experts, okExperts := words[second]
	r := Recipe{dense, experts, !weights}
	if wide {
		r.Dense, r.Experts = r.Dense.wide(), r.Experts.wide()
	}
	if r.plain() {
		r.Rounds = false
	}
	if !okDense || !okExperts || dense == FP4 || r.String() != name {
		return Recipe{}, fmt.Errorf("recipe is %q, want bf16, fp8, fp8+fp4, fp8-weights or fp8+fp4-weights", name)
	}
	return r, nil
}

// wide returns the format with float32 scales, if it is FP8.
func (f Format) wide() Format {
	if f.Code == dtype.E4M3 {
		f.Scale = dtype.F32
	}
	return f
}

// plain reports whether nothing is quantised.
func (r Recipe) plain() bool { return r.Dense == (Format{}) && r.Experts == (Format{}) }

// String returns the name that [ParseRecipe] takes.
func (r Recipe) String() string {
	name := word(r.Dense)
	if second := word(r.Experts); second != name {
		name += "+" + second
	}
	if r.Dense.Scale == dtype.F32 || r.Experts.Scale == dtype.F32 {
		name += wideScales
	}
	if !r.Rounds && !r.plain() {
		name += weightsOnly
	}
	return name
}

func word(f Format) string {
	switch f.Code {
	case dtype.E4M3:
		return "fp8"
	case dtype.E2M1:
		return "fp4"
	}
	return "bf16"
}

// Format returns how the recipe stores a parameter; the zero Format if not quantised. name is the parameter's, as checkpoint/hf
// names it in memory.
func (r Recipe) Format(name string) Format {
	switch kindOf(name) {
	case denseKind:
		return r.Dense
	case expertKind:
		return r.Experts
	}
	return Format{}
}

// Apply gives every parameter that the recipe quantises a quantised Value of zeros, and says whether its products round their
// activations. It is for a model whose weights are yet to be loaded: what Values held is gone, and so are their layouts. An error
// leaves all as it was.
func (r Recipe) Apply(params []*tensor.Param) error {
	for _, p := range params {
		if err := r.check(p); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	for _, p := range params {
		if f := r.Format(p.Name); f != (Format{}) {
			p.Value, p.Rounds = f.New(Fused(p.Name), p.Value.Shape...), r.Rounds
		}
	}
	return nil
}

// Deduce returns the recipe by which parameters are stored, from the format of each. Products are taken to round their activations, as
// files mean it. Weights of one kind in two formats are an error; those that no recipe quantises are not looked at.
func Deduce(stored iter.Seq2[string, Format]) (Recipe, error) {
	var r Recipe
	var first [expertKind + 1]string
	for name, f := range stored {
		k := kindOf(name)
		have := map[kind]*Format{denseKind: &r.Dense, expertKind: &r.Experts}[k]
		switch {
		case k == plainKind:
		case first[k] == "":
			first[k], *have = name, f
		case *have != f:
			return Recipe{}, fmt.Errorf("%q is %v, but %q is %v", name, f, first[k], *have)
		}
	}
	r.Rounds = !r.plain()
	return r, nil
}

func (r Recipe) check(p *tensor.Param) error {
	f, shape := r.Format(p.Name), p.Value.Shape
	if f == (Format{}) {
		return nil
	}
	fused := Fused(p.Name)
	switch n := len(shape); {
	case n < 2 || n > 3, n == 3 && kindOf(p.Name) != expertKind:
		return fmt.Errorf("is %v, want a matrix, or a stack of experts", p.Value)
	case shape[n-2]%fused != 0:
		return fmt.Errorf("is %v, want %d matrices of one size below each other", p.Value, fused)
	case f.Code == dtype.E2M1 && shape[n-1]%2 != 0:
		return fmt.Errorf("is %v, want an even number of columns for FP4", p.Value)
	}
	return nil
}

// Quantises reports whether some recipe quantises a parameter.
func Quantises(name string) bool { return kindOf(name) != plainKind }

// IsExpert reports whether a parameter is weights of routed experts.
func IsExpert(name string) bool { return kindOf(name) == expertKind }

// Bytes returns what a parameter takes under the recipe, codes and scales, when numbers that are not quantised are stored as plain.
func (r Recipe) Bytes(name string, shape []int, plain dtype.Type) int64 {
	n := 1
	for _, s := range shape {
		n *= s
	}
	f := r.Format(name)
	if f == (Format{}) {
		return int64(plain.Bytes(n))
	}
	rows, cols := shape[len(shape)-2]/Fused(name), shape[len(shape)-1]
	blocks := n / max(1, rows*cols) * ceil(rows, f.Block.Rows) * ceil(cols, f.Block.Cols)
	return int64(f.Code.Bytes(n) + f.Scale.Bytes(blocks))
}

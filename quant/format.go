package quant

import (
	"fmt"
	"slices"

	"furlong/dtype"
	"furlong/tensor"
)

// A Format is how a quantised weight is stored. The zero Format is none: the weight is numbers.
type Format struct {
	Code, Scale dtype.Type // E4M3, E2M1 or E4M3FNUZ; E8M0 or F32
	Block       Block
}

// The formats of DeepSeek-V4.
var (
	FP8 = Format{dtype.E4M3, dtype.E8M0, WeightE4M3}
	FP4 = Format{dtype.E2M1, dtype.E8M0, GroupE2M1}
)

// FP8FNUZ is FP8 for devices whose E4M3 has the bias 8. It means the same numbers: [ToFNUZ] makes it of FP8.
var FP8FNUZ = Format{dtype.E4M3FNUZ, dtype.E8M0, WeightE4M3}

// New returns a tensor of zeros in the format: a matrix, or a stack of matrices, each of fused ones that lie one below the other.
func (f Format) New(fused int, shape ...int) *tensor.Tensor {
	return tensor.NewQuantised(f.Code, f.Scale, [2]int{f.Block.Rows, f.Block.Cols}, fused, shape...)
}

// Grid returns the shape of the scales of such a tensor.
func (f Format) Grid(fused int, shape ...int) []int {
	grid, n := slices.Clone(shape), len(shape)
	grid[n-2] = fused * ceil(shape[n-2]/fused, f.Block.Rows)
	grid[n-1] = ceil(shape[n-1], f.Block.Cols)
	return grid
}

// FormatOf returns the format of a tensor, the zero Format if it is not quantised.
func FormatOf(t *tensor.Tensor) Format {
	if !t.Quantised() {
		return Format{}
	}
	return Format{t.Type, t.Scale.Type, Block{t.Block[0], t.Block[1]}}
}

// String says it as messages do: F8_E4M3 in blocks of 128x128 with F8_E8M0 scales.
func (f Format) String() string {
	if f == (Format{}) {
		return "not quantised"
	}
	return fmt.Sprintf("%v in blocks of %dx%d with %v scales", f.Code, f.Block.Rows, f.Block.Cols, f.Scale)
}

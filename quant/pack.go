package quant

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// A Block is the size of a tile that shares one scale.
type Block struct{ Rows, Cols int }

// The blocks of DeepSeek-V4.
var (
	WeightE4M3     = Block{128, 128}
	ActivationE4M3 = Block{1, 128}
	GroupE2M1      = Block{1, 32}
)

// A Rule returns the scale byte of a block whose largest magnitude is amax.
type Rule func(amax float32) uint8

// UpE4M3 is the smallest power of two at which nothing saturates in E4M3, but 2^-22 for a block below 1e-4.
func UpE4M3(amax float32) uint8 { return dtype.ScaleE8M0(amax, dtype.FloorE4M3, dtype.MaxE4M3) }

// UpE2M1 is the smallest power of two at which nothing saturates in E2M1, but not below 2^-126.
func UpE2M1(amax float32) uint8 { return dtype.ScaleE8M0(amax, dtype.FloorE2M1, dtype.MaxE2M1) }

// DownE2M1 is the power of two at which amax lands between 4 and 8, so that it may saturate; 0 has the byte 0.
func DownE2M1(amax float32) uint8 {
	exp := int(math.Float32bits(amax) >> 23 & 0xff)
	if exp == dtype.NaNE8M0 {
		return dtype.NaNE8M0
	}
	return uint8(max(exp-2, 0))
}

// PackE4M3 returns the codes [R, C] and the scales of a float32 matrix w [R, C].
func PackE4M3(w *tensor.Tensor, b Block, rule Rule) (codes, scales *tensor.Tensor) {
	codes = tensor.New(dtype.E4M3, w.Shape...)
	scales = b.grid(dtype.E8M0, w)
	b.each(w, func(i int, t tile) {
		scales.Mem[i] = rule(t.amax(w.F32()))
		t.toE4M3(codes.Mem, w.F32(), dtype.FromE8M0(scales.Mem[i]))
	})
	return codes, scales
}

// PackE4M3F32 packs as [PackE4M3] does, with the float32 scale amax/448, amax not below 1e-4.
func PackE4M3F32(w *tensor.Tensor, b Block) (codes, scales *tensor.Tensor) {
	codes = tensor.New(dtype.E4M3, w.Shape...)
	scales = b.grid(dtype.F32, w)
	b.each(w, func(i int, t tile) {
		s := max(t.amax(w.F32()), dtype.FloorE4M3) / dtype.MaxE4M3
		scales.F32()[i] = s
		t.toE4M3(codes.Mem, w.F32(), s)
	})
	return codes, scales
}

// PackE2M1 returns the codes [R, C], two a byte with the even column in the low four bits, and the scales of
// a float32 matrix w [R, C]. C is even, and so are the columns of a block.
func PackE2M1(w *tensor.Tensor, b Block, rule Rule) (codes, scales *tensor.Tensor) {
	b.mustPair(w)
	codes = tensor.New(dtype.E2M1, w.Shape...)
	scales = b.grid(dtype.E8M0, w)
	b.each(w, func(i int, t tile) {
		scales.Mem[i] = rule(t.amax(w.F32()))
		t.toE2M1(codes.Mem, w.F32(), dtype.FromE8M0(scales.Mem[i]))
	})
	return codes, scales
}

// Unpack returns the float32 matrix that codes (E4M3 or E2M1) and scales (E8M0 or F32) stand for.
func Unpack(codes, scales *tensor.Tensor, b Block) *tensor.Tensor {
	if want := b.grid(scales.Type, codes); want.Len() != scales.Len() {
		panic(fmt.Sprintf("unpack: scales are %v, want %v for %v", scales, want, codes))
	}
	w := tensor.New(dtype.F32, codes.Shape...)
	number := decoder(codes)
	b.each(codes, func(i int, t tile) {
		s := scaleAt(scales, i)
		t.each(func(k int) { w.F32()[k] = number(k) * s })
	})
	return w
}

// decoder returns the function from an element's place to the number of its code.
func decoder(codes *tensor.Tensor) func(k int) float32 {
	switch codes.Type {
	case dtype.E4M3:
		return func(k int) float32 { return dtype.FromE4M3(codes.Mem[k]) }
	case dtype.E2M1:
		return func(k int) float32 { return dtype.FromE2M1(codes.Mem[k/2] >> (k % 2 * 4)) }
	}
	panic(fmt.Sprintf("unpack: codes are %v, want E4M3 or E2M1", codes.Type))
}

func scaleAt(scales *tensor.Tensor, i int) float32 {
	if scales.Type == dtype.F32 {
		return scales.F32()[i]
	}
	if scales.Type != dtype.E8M0 {
		panic(fmt.Sprintf("unpack: scales are %v, want E8M0 or F32", scales.Type))
	}
	return dtype.FromE8M0(scales.Mem[i])
}

package dtype

import "strconv"

// A Type is the format of a tensor's elements.
type Type uint8

// The formats that checkpoints hold. F64 is for tests: nothing computes in it but the reference kernels.
const (
	Invalid Type = iota
	F64
	F32
	BF16
	E4M3 // 1-4-3, bias 7, no infinities: "F8_E4M3" of a checkpoint
	E2M1 // two codes a byte, the even element in the low four bits: "F4" of a checkpoint, or bytes typed I8
	E8M0 // a power of two: "F8_E8M0" of a checkpoint
	I64
	I32
	I16
	I8
	U8
	Bool
	F16
	E4M3FNUZ // 1-4-3, bias 8, one NaN: a byte means half of what it means in E4M3; no checkpoint that we read holds it
)

var types = [...]struct {
	name string
	bits int
}{
	Invalid: {"invalid", 0}, F64: {"F64", 64}, F32: {"F32", 32}, BF16: {"BF16", 16}, E4M3: {"F8_E4M3", 8}, E2M1: {"F4", 4},
	E8M0: {"F8_E8M0", 8}, I64: {"I64", 64}, I32: {"I32", 32}, I16: {"I16", 16}, I8: {"I8", 8}, U8: {"U8", 8}, Bool: {"BOOL", 8}, F16: {"F16", 16},
	E4M3FNUZ: {"F8_E4M3FNUZ", 8},
}

// String returns the name that safetensors files use.
func (t Type) String() string {
	if int(t) < len(types) {
		return types[t].name
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// Bits returns the size of one element in bits.
func (t Type) Bits() int {
	if int(t) < len(types) {
		return types[t].bits
	}
	return 0
}

// Bytes returns the size of n elements in bytes, rounded up.
func (t Type) Bytes(n int) int { return (n*t.Bits() + 7) / 8 }

// Parse returns the Type that prints as name.
func Parse(name string) (Type, bool) {
	for t := range types {
		if t > 0 && types[t].name == name {
			return Type(t), true
		}
	}
	return Invalid, false
}

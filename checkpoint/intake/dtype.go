package intake

import (
	"strings"

	"furlong/dtype"
)

// torch are the formats by the names that senders in Python use. A byte of float4_e2m1fn_x2 is two codes, and its shape counts bytes.
var torch = map[string]dtype.Type{
	"float64": dtype.F64, "double": dtype.F64, "float32": dtype.F32, "float": dtype.F32, "bfloat16": dtype.BF16, "float16": dtype.F16, "half": dtype.F16,
	"float8_e4m3fn": dtype.E4M3, "float8_e4m3": dtype.E4M3, "float8_e4m3fnuz": dtype.E4M3FNUZ, "float8_e8m0fnu": dtype.E8M0, "float4_e2m1fn_x2": dtype.U8,
	"int64": dtype.I64, "long": dtype.I64, "int32": dtype.I32, "int": dtype.I32, "int16": dtype.I16, "short": dtype.I16, "int8": dtype.I8, "uint8": dtype.U8, "bool": dtype.Bool,
}

// ParseType returns the format of a name as safetensors files or torch spell it, the latter with or without "torch." before it.
func ParseType(name string) (dtype.Type, bool) {
	if t, ok := dtype.Parse(name); ok {
		return t, true
	}
	t, ok := torch[strings.TrimPrefix(name, "torch.")]
	return t, ok
}

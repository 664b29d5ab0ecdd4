package intake

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
)

// respell gives a tensor another of its names and its format another of its spellings.
func respell(r *rand.Rand, x rl.Tensor) rl.Tensor {
	if r.IntN(2) == 0 {
		x.Name = strings.TrimPrefix(x.Name, "model.")
	} else if !strings.HasPrefix(x.Name, "model.") {
		x.Name = "model." + x.Name
	}
	of, scale := strings.CutSuffix(x.Name, ".weight_scale_inv")
	if !scale {
		of, scale = strings.CutSuffix(x.Name, ".scale")
		scale = scale && !strings.HasSuffix(of, "_hc")
	}
	if scale {
		x.Name = of + []string{".scale", ".weight_scale_inv"}[r.IntN(2)]
	}
	names := map[string][]string{
		"F8_E8M0": {"uint8", "torch.uint8", "float8_e8m0fnu", "U8"}, "I8": {"torch.int8", "uint8", "float4_e2m1fn_x2"},
		"F8_E4M3": {"torch.float8_e4m3fn"}, "BF16": {"bfloat16", "torch.bfloat16"}, "F32": {"float32"}, "I64": {"torch.int64"}, "I32": {"int32"},
	}[x.Type]
	if n := r.IntN(len(names) + 1); n < len(names) {
		x.Type = names[n]
	}
	return x
}

// Whatever the scheme, the spelling, the cut and the order: an engine holds the bytes that were saved.
func TestTakeUp(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, format := range recipes {
		m, want := describe(t, format), stored(t, format, 1)
		for scheme := hf.Memory; scheme <= hf.Wire; scheme++ {
			ts := files(t, want, scheme)
			for i := range ts {
				ts[i] = respell(r, ts[i])
			}
			r.Shuffle(len(ts), func(i, j int) { ts[i], ts[j] = ts[j], ts[i] })
			s := m.Begin(Options{Strict: true})
			for bucket := range slices.Chunk(ts, 1+r.IntN(40)) {
				if err := s.Put(bucket); err != nil {
					t.Fatalf("%s, %v: %v", format, scheme, err)
				}
			}
			got, report, err := taken(t, s, nil)
			if err != nil {
				t.Fatalf("%s, %v: %v", format, scheme, err)
			}
			sameBytes(t, fmt.Sprint(format, ", ", scheme), got, want)
			if report.Tensors != len(ts) || report.Kept != 0 || report.Packed() != 0 || report.Unknown != 0 {
				t.Errorf("%s, %v: of %d tensors: %v", format, scheme, len(ts), report)
			}
		}
	}
}

// Numbers that are sent for codes become the bytes that loading the same checkpoint gives.
func TestPacksAsLoadingDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, format := range []string{"fp8", "fp8+fp4", "fp8-f32scales"} {
		for _, of := range []dtype.Type{dtype.BF16, dtype.F32} {
			from := plain(of, 3)
			ts := files(t, from, hf.Wire)
			want := empty(t, format)
			if _, err := hf.Load(save(t, from, hf.Wire), want, hf.LoadOptions{Layers: len(small().Layers), Experts: small().Experts}); err != nil {
				t.Fatal(err)
			}
			m := describe(t, format)
			if of == dtype.F32 { // what is not packed must come as it is held
				ts = slices.DeleteFunc(ts, func(x rl.Tensor) bool {
					target, _ := find(x.Name)
					return m.specs[m.byName[target.Param]].Value.Type == dtype.BF16
				})
			}
			s := m.Begin(Options{Strict: true})
			if err := s.Put(ts); err != nil {
				t.Fatal(err)
			}
			got, report, err := taken(t, s, want)
			if err != nil {
				t.Fatal(err)
			}
			sameBytes(t, fmt.Sprint(format, " from ", of), got, want)
			if report.Packed() == 0 {
				t.Errorf("%s from %v: %v", format, of, report)
			}
		}
	}
}

// Numbers go between BF16 and F32 where they stay the same: files store norms in BF16, which are held in F32.
func TestNumbersStayTheSame(t *testing.T) {
	want := stored(t, "bf16", 1)
	for _, p := range want {
		if p.Value.Type == dtype.F32 {
			for i, x := range p.Value.F32() {
				p.Value.F32()[i] = dtype.FromBF16(dtype.ToBF16(x))
			}
		}
	}
	ts := files(t, want, hf.Ref)
	for i, x := range ts {
		other := map[string]dtype.Type{"F32": dtype.BF16, "BF16": dtype.F32}[x.Type]
		if other == dtype.Invalid {
			continue
		}
		have, _ := ParseType(x.Type)
		to := tensor.New(other, x.Shape...)
		hf.Convert(to, &tensor.Tensor{Type: have, Shape: x.Shape, Mem: x.Data})
		ts[i].Type, ts[i].Data = other.String(), to.Mem
	}
	s := describe(t, "bf16").Begin(Options{Strict: true})
	if err := s.Put(ts); err != nil {
		t.Fatal(err)
	}
	got, report, err := taken(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "BF16 for F32 and the other way", got, want)
	if report.Ways[recast] < len(ts)-1 {
		t.Errorf("report is %v", report)
	}
}

// Released files have one weight in codes that engines hold as numbers. It may come either way, but not both.
func TestCodesForNumbers(t *testing.T) {
	for _, format := range []string{"f32", "bf16", "fp8"} {
		want := stored(t, format, 1)
		ts := files(t, want, hf.Ref)
		released := slices.Clone(ts)
		for i, x := range ts {
			if !strings.HasSuffix(x.Name, "attn.wo_a.weight") {
				continue
			}
			have, _ := ParseType(x.Type)
			q := quant.FP8.New(1, x.Shape...)
			quant.Pack(q, &tensor.Tensor{Type: have, Shape: x.Shape, Mem: x.Data})
			released[i] = rl.Tensor{Name: x.Name, Type: "float8_e4m3fn", Shape: x.Shape, Data: q.Mem}
			released = append(released, rl.Tensor{Name: strings.TrimSuffix(x.Name, "weight") + "scale", Type: "uint8", Shape: q.Scale.Shape, Data: q.Scale.Mem})
			for _, p := range want {
				if target, _ := find(x.Name); p.Name == target.Param {
					quant.Unpack(p.Value, q)
				}
			}
		}
		s := describe(t, format).Begin(Options{Strict: true})
		for bucket := range slices.Chunk(released, 17) {
			if err := s.Put(bucket); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := taken(t, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, format, got, want)
		s = describe(t, format).Begin(Options{})
		if err := s.Put(append(ts, released[len(released)-1])); err == nil || !strings.Contains(err.Error(), "came in another format") {
			t.Errorf("%s: both ways at once: %v", format, err)
		}
		s = describe(t, format).Begin(Options{})
		if err := s.Put(released[:len(released)-1]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.End(2, Held{}); err == nil || !strings.Contains(err.Error(), "attn.wo_a.weight (its scales are missing)") {
			t.Errorf("%s: without scales: %v", format, err)
		}
	}
}

// Scales that are powers of two go between their formats, others don't.
func TestScalesKeepTheirNumbers(t *testing.T) {
	want := stored(t, "fp8", 1)
	ts := files(t, want, hf.Ref)
	for i := range ts {
		if ts[i].Type != "F8_E8M0" {
			continue
		}
		x := tensor.New(dtype.F32, ts[i].Shape...)
		for k, b := range ts[i].Data {
			x.F32()[k] = dtype.FromE8M0(b)
		}
		ts[i].Type, ts[i].Data = "float32", x.Mem
	}
	s := describe(t, "fp8").Begin(Options{})
	if err := s.Put(ts); err != nil {
		t.Fatal(err)
	}
	got, report, err := taken(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "float32 scales for E8M0", got, want)
	if report.Ways[recast] == 0 {
		t.Errorf("report is %v", report)
	}
	for _, x := range []float32{3, 0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		i := named(t, ts, "layers.0.attn.wq_a.scale")
		bad := slices.Clone(ts)
		y := tensor.Of([]float32{x}, 1, 1)
		bad[i].Data = y.Mem
		if err := describe(t, "fp8").Begin(Options{}).Put(bad); err == nil || !strings.Contains(err.Error(), ts[i].Name) {
			t.Errorf("the scale %v: error is %v", x, err)
		}
	}
}

// What is left out stays what it was, if it is whole parameters and whole groups.
func TestPartOfAVersion(t *testing.T) {
	for _, format := range []string{"bf16", "fp8+fp4"} {
		live, fresh := stored(t, format, 1), stored(t, format, 2)
		ts := files(t, fresh, hf.Wire)
		want := slices.Clone(live)
		for i, p := range fresh {
			if strings.HasPrefix(p.Name, "model.layers.1.") {
				want[i] = p
			}
		}
		s := describe(t, format).Begin(Options{Strict: true})
		sent := slices.DeleteFunc(slices.Clone(ts), func(x rl.Tensor) bool { return !strings.HasPrefix(x.Name, "model.layers.1.") })
		if err := s.Put(sent); err != nil {
			t.Fatal(err)
		}
		got, report, err := taken(t, s, live)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, format, got, want)
		if report.Kept == 0 || !strings.Contains(report.String(), fmt.Sprint(report.Kept, " kept as they were")) {
			t.Errorf("%s: report is %v", format, report)
		}
		s = describe(t, format).Begin(Options{Strict: true})
		if err := s.Put(sent); err != nil {
			t.Fatal(err)
		}
		if _, _, err := taken(t, s, nil); err == nil || !strings.Contains(err.Error(), "did not come, and nothing is held from which they could be taken, first model.embed_tokens.weight") {
			t.Errorf("%s: with nothing held: %v", format, err)
		}
	}
}

// A session that is not whole does not end well, and says by name what is missing.
func TestIncomplete(t *testing.T) {
	live := stored(t, "fp8+fp4", 1)
	ts := files(t, live, hf.Ref)
	for _, tt := range []struct{ name, without, want string }{
		{"a scale", "layers.0.attn.wo_b.scale", `parameter "model.layers.0.self_attn.o_b_proj.weight": 1 of its 1 tensors did not come whole, first layers.0.attn.wo_b.weight (its scales are missing)`},
		{"codes", "layers.0.attn.wo_b.weight", "first layers.0.attn.wo_b.weight (only its scales came)"},
		{"an expert's up", "layers.1.ffn.experts.2.w3.", `parameter "model.layers.1.mlp.experts.gate_up_proj": 1 of its 6 tensors did not come whole, first layers.1.ffn.experts.2.w3.weight`},
		{"all experts' scales", ".w2.scale", `parameter "model.layers.0.mlp.experts.down_proj": 3 of its 3 tensors did not come whole, first layers.0.ffn.experts.0.w2.weight (its scales are missing)`},
		{"one of a pair", "layers.0.attn.wkv.", `parameter "model.layers.0.self_attn.q_a_proj.weight": came without model.layers.0.self_attn.kv_proj.weight, with which it becomes visible`},
		{"everything", "", "none of the tensors that came has a place in the model: 0 tensors, 0 bytes"},
	} {
		s := describe(t, "fp8+fp4").Begin(Options{})
		if err := s.Put(slices.DeleteFunc(slices.Clone(ts), func(x rl.Tensor) bool { return strings.Contains(x.Name, tt.without) })); err != nil {
			t.Fatal(err)
		}
		if _, _, err := taken(t, s, live); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("without %s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// Every refusal names the tensor, and nothing is taken up behind it.
func TestRefusals(t *testing.T) {
	base := map[string][]rl.Tensor{}
	for _, f := range recipes {
		base[f] = files(t, stored(t, f, 1), hf.Ref)
	}
	const wkv, expert, table = "layers.0.attn.wkv.weight", "layers.1.ffn.experts.1.w1.weight", "layers.0.ffn.gate.tid2eid"
	for _, tt := range []struct {
		name, format, tensor string
		edit                 func(x *rl.Tensor)
		want                 string
	}{
		{"another format", "bf16", wkv, func(x *rl.Tensor) { x.Type = "float16" }, "is F16[8 40], want BF16[8 40]"},
		{"numbers too exact", "bf16", wkv, func(x *rl.Tensor) { x.Type, x.Data = "F32", slices.Repeat([]byte{1, 0, 0, 0, 0, 0, 128, 63}, 8*20) }, "is F32[8 40], and 160 of its 320 numbers are none of BF16"},
		{"codes for numbers", "bf16", wkv, func(x *rl.Tensor) { x.Type, x.Data = "float8_e4m3fn", make([]byte, 8*40) }, "is F8_E4M3[8 40], want BF16[8 40]"},
		{"another shape", "bf16", wkv, func(x *rl.Tensor) { x.Shape = []int{40, 8} }, "is BF16[40 8], want BF16[8 40]"},
		{"no format", "bf16", wkv, func(x *rl.Tensor) { x.Type = "torch.complex64" }, `dtype is "torch.complex64", which is none`},
		{"a byte less", "bf16", wkv, func(x *rl.Tensor) { x.Data = x.Data[1:] }, "has 639 bytes, want 640 for BF16[8 40]"},
		{"a negative axis", "bf16", wkv, func(x *rl.Tensor) { x.Shape = []int{-8, -40} }, "shape is [-8 -40], which nothing can have"},
		{"a shape that overflows", "bf16", wkv, func(x *rl.Tensor) { x.Shape = []int{1 << 40, 1 << 40} }, "which nothing can have"},
		{"an expert too many", "bf16", expert, func(x *rl.Tensor) { x.Name = "layers.1.ffn.experts.3.w1.weight" }, "is of expert 3, want 0 to 2"},
		{"bytes for FP8", "fp8", wkv, func(x *rl.Tensor) { x.Type = "uint8" }, "is U8[8 40], want F8_E4M3 of [8 40], or BF16 or F32 to be packed"},
		{"FP8 for FP4", "fp8+fp4", expert, func(x *rl.Tensor) { x.Type = "F8_E4M3" }, "is F8_E4M3[130 20], want F4 (or two codes a byte, as I8 or U8) of [130 40]"},
		{"unpacked FP4", "fp8+fp4", expert, func(x *rl.Tensor) { x.Shape, x.Data = []int{130, 40}, make([]byte, 130*40) }, "is I8[130 40], want shape [130 20]"},
		{"scales in bytes of another kind", "fp8", "layers.0.attn.wkv.scale", func(x *rl.Tensor) { x.Type = "int8" }, "is I8[1 1], want F8_E8M0[1 1]"},
		{"bytes for float32 scales", "fp8-f32scales", "layers.0.attn.wkv.scale", func(x *rl.Tensor) { x.Type, x.Data = "uint8", make([]byte, 1) }, "is U8[1 1], want F32[1 1]"},
		{"a grid", "fp8", "layers.0.attn.wkv.scale", func(x *rl.Tensor) { x.Shape = []int{1} }, "is F8_E8M0[1], want F8_E8M0[1 1] for blocks of 128x128"},
		{"a scale of no number", "fp8", "layers.0.attn.wkv.scale", func(x *rl.Tensor) { x.Data[0] = 255 }, "has the code 255, no number, at 0"},
		{"scales of what has none", "bf16", wkv, func(x *rl.Tensor) { x.Name = "layers.0.attn.wkv.scale" }, "is scales, but model.layers.0.self_attn.kv_proj.weight is held as BF16"},
		{"an expert that isn't", "bf16", table, func(x *rl.Tensor) { x.Data[0] = 77 }, "entry 0 is expert 77, want 0 to 2"},
		{"a table of zeros", "bf16", table, func(x *rl.Tensor) { clear(x.Data) }, "is all zero"},
		{"a table of numbers", "bf16", table, func(x *rl.Tensor) { x.Type, x.Data = "BF16", make([]byte, 24*2*2) }, "is BF16[24 2], want I64 or I32 [24 2]"},
		{"a tensor twice", "bf16", "layers.1.attn.wkv.weight", func(x *rl.Tensor) { x.Name = wkv }, "comes twice, as layers.0.attn.wkv.weight"},
		{"scales twice", "fp8", "layers.1.attn.wkv.scale", func(x *rl.Tensor) { x.Name = "model.layers.0.self_attn.wkv.weight_scale_inv" }, "comes twice, as layers.0.attn.wkv.weight"},
		{"numbers with scales", "fp8", wkv, func(x *rl.Tensor) { x.Type, x.Data = "BF16", make([]byte, 8*40*2) }, "came in another format: they are of two checkpoints"},
		{"one expert in numbers", "fp8+fp4", expert, func(x *rl.Tensor) { x.Type, x.Shape, x.Data = "BF16", []int{130, 40}, make([]byte, 130*40*2) }, "came in another format: they are of two checkpoints"},
		{"a stranger", "bf16", wkv, func(x *rl.Tensor) { x.Name = "layers.0.attn.wqkv.weight" }, "which the model has no place for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ts := slices.Clone(base[tt.format])
			x := &ts[named(t, ts, tt.tensor)]
			x.Data = slices.Clone(x.Data)
			tt.edit(x)
			s := describe(t, tt.format).Begin(Options{Strict: true})
			err := s.Put(ts)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", x.Name)) && !strings.Contains(tt.want, "two checkpoints") {
				t.Fatalf("error is %v, want one with %q and %q", err, tt.want, x.Name)
			}
			if err := s.Put(base[tt.format][:1]); err == nil || !strings.HasPrefix(err.Error(), "an earlier bucket was refused: tensor ") {
				t.Errorf("the next bucket: %v", err)
			}
			if w, err := s.End(2, Held{}); err == nil || w != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("its end: %v, %v", w, err)
			}
			if err := s.Put(nil); err == nil || err.Error() != "the session has ended" {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// One number that is none, in an expert that few tokens meet, is refused by name, whatever it comes as.
func TestNotFinite(t *testing.T) {
	const expert = "layers.1.ffn.experts.2.w3.weight"
	const at = (2*2*130+130)*40 + 3 // its element 3, in all experts of the layer
	for _, tt := range []struct {
		held, sent string
		number     []byte
	}{
		{"f32", "f32", []byte{0, 0, 0x80, 0x7f}},
		{"bf16", "bf16", []byte{0xc0, 0xff}},
		{"fp8", "fp8", []byte{0x7f}},
		{"fp8", "bf16", []byte{0x80, 0x7f}},
		{"fp8+fp4", "bf16", []byte{0xc0, 0x7f}},
	} {
		ps := stored(t, tt.sent, 1)
		for _, p := range ps {
			if strings.HasSuffix(p.Name, "layers.1.mlp.experts.gate_up_proj") {
				copy(p.Value.Mem[at*len(tt.number):], tt.number)
			}
		}
		parts, whole := describe(t, tt.held).Begin(Options{}), describe(t, tt.held).Begin(Options{})
		_, err := whole.PutFolder(save(t, ps, hf.Memory))
		if err = errors.Join(err, parts.Put(files(t, ps, hf.Ref))); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Session{parts, whole} {
			if w, err := s.End(2, Held{}); err == nil || w != nil || !strings.HasPrefix(err.Error(), `tensor "`+expert+`": has numbers that are NaN or infinite: `) {
				t.Errorf("%s for %s: %v, %v, want %s refused", tt.sent, tt.held, w, err, expert)
			}
		}
	}
}

// An entry of a table that loses its upper bits must not become an expert.
func TestWideTableEntries(t *testing.T) {
	ts := files(t, stored(t, "bf16", 1), hf.Ref)
	x := &ts[named(t, ts, "tid2eid")]
	wide := tensor.New(dtype.I64, x.Shape...)
	wide.I64()[1] = 1<<32 + 1
	x.Type, x.Data = "int64", wide.Mem
	if err := describe(t, "bf16").Begin(Options{}).Put(ts); err == nil || !strings.Contains(err.Error(), "entry 1 is expert 4294967297") {
		t.Errorf("error is %v", err)
	}
}

// What the model has no place for is counted and named, and draft layers are set aside.
func TestStrangers(t *testing.T) {
	want := stored(t, "bf16", 1)
	ts := files(t, want, hf.Wire)
	for i := range shownNames + 3 {
		ts = append(ts, rl.Tensor{Name: fmt.Sprint("model.layers.0.self_attn.k_scale", i), Type: "F32", Shape: []int{}, Data: make([]byte, 4)})
	}
	ts = append(ts, rl.Tensor{Name: "mtp.0.e_proj.weight", Type: "F32", Shape: []int{1}, Data: make([]byte, 4)})
	ts = append(ts, rl.Tensor{Name: "model.layers.2.self_attn.wkv.weight", Type: "F32", Shape: []int{1}, Data: make([]byte, 4)})
	s := describe(t, "bf16").Begin(Options{})
	if err := s.Put(ts); err != nil {
		t.Fatal(err)
	}
	got, report, err := taken(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "with strangers", got, want)
	if report.Unknown != shownNames+3 || report.Aside != 2 || !strings.Contains(report.String(), "23 unknown left out (model.layers.0.self_attn.k_scale0, ") || !strings.HasSuffix(report.String(), "and 3 more)") {
		t.Errorf("report is %v", report)
	}
}

// Check says what Put would, and changes nothing.
func TestCheck(t *testing.T) {
	ts := files(t, stored(t, "fp8", 1), hf.Wire)
	s := describe(t, "fp8").Begin(Options{Strict: true})
	var list []Flat
	for _, x := range ts {
		list = append(list, Flat{Name: x.Name, Type: x.Type, Shape: x.Shape})
	}
	for range 2 {
		if err := s.Check(list); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(ts[:10]); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(list); err == nil || !strings.Contains(err.Error(), "comes twice") {
		t.Errorf("after ten of them: %v", err)
	}
	if err := s.Check(append(slices.Clone(list[10:]), Flat{Name: "x", Type: "F3"})); err == nil || !strings.Contains(err.Error(), `dtype is "F3"`) {
		t.Errorf("no format: %v", err)
	}
	if err := s.Put(ts[10:]); err != nil {
		t.Error(err)
	}
	s.Abort()
	if err := s.Check(list); err == nil {
		t.Error("a session that was given up checks")
	}
}

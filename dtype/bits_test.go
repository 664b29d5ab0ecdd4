package dtype

import (
	"math"
	"testing"
)

func TestEveryBF16RoundTrips(t *testing.T) {
	for b := range 1 << 16 {
		x := FromBF16(uint16(b))
		got := ToBF16(x)
		if x != x {
			if y := FromBF16(got); y == y || got>>15 != uint16(b)>>15 {
				t.Errorf("NaN %#x became %#x (%v)", b, got, y)
			}
			continue
		}
		if got != uint16(b) {
			t.Errorf("ToBF16(FromBF16(%#x)) = %#x", b, got)
		}
	}
}

func TestBF16MidpointsTieToEven(t *testing.T) {
	for b := range uint32(0x7f80) { // every finite magnitude; after the last comes infinity
		mid := b<<16 | 0x8000
		for _, tt := range []struct{ bits, want uint32 }{{mid - 1, b}, {mid, b + b&1}, {mid + 1, b + 1}} {
			if got := ToBF16(math.Float32frombits(tt.bits)); uint32(got) != tt.want {
				t.Fatalf("ToBF16 of bits %#x = %#x, want %#x", tt.bits, got, tt.want)
			}
			if got := ToBF16(math.Float32frombits(tt.bits | 1<<31)); uint32(got) != tt.want|0x8000 {
				t.Fatalf("ToBF16 of bits %#x, negative = %#x, want %#x", tt.bits, got, tt.want|0x8000)
			}
		}
	}
}

// A NaN whose payload lies only in the bits that are cut off must not become an infinity.
func TestBF16KeepsNaN(t *testing.T) {
	for _, bits := range []uint32{0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff, 0xffffffff} {
		got := ToBF16(math.Float32frombits(bits))
		if y := FromBF16(got); y == y || uint32(got>>15) != bits>>31 {
			t.Errorf("ToBF16 of NaN %#x = %#x (%v)", bits, got, y)
		}
	}
}

func TestEveryF16(t *testing.T) {
	for b := range 1 << 16 {
		got := float64(FromF16(uint16(b)))
		exp, man := b>>10&31, float64(b&1023)
		want := math.Ldexp(1024+man, exp-25)
		switch {
		case exp == 31 && man != 0:
			want = math.NaN()
		case exp == 31:
			want = math.Inf(1)
		case exp == 0:
			want = math.Ldexp(man, -24)
		}
		if b>>15 == 1 {
			want = math.Copysign(want, -1)
		}
		if math.Signbit(got) != math.Signbit(want) || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("FromF16(%#x) = %v, want %v", b, got, want)
		}
	}
}

func TestEveryE8M0(t *testing.T) {
	for b := range 255 {
		if got, want := float64(FromE8M0(uint8(b))), math.Ldexp(1, b-127); got != want {
			t.Errorf("FromE8M0(%d) = %v, want %v", b, got, want)
		}
	}
	if x := FromE8M0(255); x == x {
		t.Errorf("FromE8M0(255) = %v, want NaN", x)
	}
}

func TestScaleE8M0(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		name                 string
		amax, floor, largest float32
		want                 uint8
	}{
		{"a block of zeros, FP8", 0, FloorE4M3, MaxE4M3, 105},
		{"a block of zeros, FP4", 0, FloorE2M1, MaxE2M1, 1},
		{"exactly the largest number", 6, FloorE2M1, MaxE2M1, 127},
		{"an ulp more", next(6), FloorE2M1, MaxE2M1, 128},
		{"the worked example", 5.5, FloorE4M3, MaxE4M3, 121},
		{"the largest float32", math.MaxFloat32, FloorE4M3, MaxE4M3, 247},
		{"infinite", inf, FloorE4M3, MaxE4M3, 255},
		{"NaN", nan, FloorE4M3, MaxE4M3, 255},
	} {
		if got := ScaleE8M0(tt.amax, tt.floor, tt.largest); got != tt.want {
			t.Errorf("%s: ScaleE8M0(%v, %v, %v) = %d, want %d", tt.name, tt.amax, tt.floor, tt.largest, got, tt.want)
		}
	}
}

func TestNamesParse(t *testing.T) {
	for typ := F64; typ <= F16; typ++ {
		if got, ok := Parse(typ.String()); got != typ || !ok {
			t.Errorf("Parse(%q) = %v, %v", typ, got, ok)
		}
	}
	for _, name := range []string{"", "invalid", "f32", "F4_E2M1"} {
		if got, ok := Parse(name); ok {
			t.Errorf("Parse(%q) = %v, want none", name, got)
		}
	}
	if got := E2M1.Bytes(3); got != 2 {
		t.Errorf("E2M1.Bytes(3) = %d, want 2", got)
	}
}

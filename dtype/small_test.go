package dtype

import (
	"math"
	"testing"
)

// A codec is one small format under test.
type codec struct {
	name  string
	from  func(uint8) float32
	cast  func(float32) uint8 // overflow becomes what the format has for it
	sat   func(float32) uint8 // overflow becomes the largest number
	codes int                 // how many codes there are
	top   uint8               // code of the largest number
	over  uint8               // what cast makes of a number far too large
}

var codecs = []codec{
	{"E4M3", FromE4M3, ToE4M3, ToE4M3Sat, 256, 0x7e, 0x7f},
	{"E4M3FNUZ", FromE4M3FNUZ, ToE4M3FNUZ, ToE4M3FNUZSat, 256, 0x7f, 0x80},
	{"E2M1", FromE2M1, ToE2M1, ToE2M1, 16, 7, 7},
}

func next(x float32) float32 { return math.Nextafter32(x, float32(math.Inf(1))) }
func prev(x float32) float32 { return math.Nextafter32(x, float32(math.Inf(-1))) }

func TestEveryCodeRoundTrips(t *testing.T) {
	for _, c := range codecs {
		for code := range c.codes {
			x := c.from(uint8(code))
			if got := c.cast(x); got != uint8(code) && x == x {
				t.Errorf("%s: code %#x is %v, which casts to %#x", c.name, code, x, got)
			}
			if got := c.sat(x); got != uint8(code) && x == x {
				t.Errorf("%s: code %#x is %v, which saturates to %#x", c.name, code, x, got)
			}
			if x != x && (c.from(c.cast(x)) == c.from(c.cast(x)) || c.from(c.sat(x)) == c.from(c.sat(x))) {
				t.Errorf("%s: NaN of code %#x casts to a number", c.name, code)
			}
		}
	}
}

func TestMidpointsTieToTheEvenCode(t *testing.T) {
	for _, c := range codecs {
		for lo := range c.top {
			mid := (c.from(lo) + c.from(lo+1)) / 2
			even := lo + lo&1
			for _, tt := range []struct {
				x    float32
				want uint8
			}{{prev(mid), lo}, {mid, even}, {next(mid), lo + 1}} {
				if got := c.cast(tt.x); got != tt.want {
					t.Errorf("%s: cast(%v) = %#x, want %#x", c.name, tt.x, got, tt.want)
				}
				if got := c.sat(tt.x); got != tt.want {
					t.Errorf("%s: saturating cast(%v) = %#x, want %#x", c.name, tt.x, got, tt.want)
				}
				if got := c.from(c.cast(-tt.x)); got != -c.from(tt.want) {
					t.Errorf("%s: cast(%v) means %v, want %v", c.name, -tt.x, got, -c.from(tt.want))
				}
			}
		}
	}
}

func TestOverflow(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range codecs {
		for _, x := range []float32{1e4, math.MaxFloat32, inf} {
			if got := c.cast(x); got != c.over {
				t.Errorf("%s: cast(%v) = %#x, want %#x", c.name, x, got, c.over)
			}
			if got := c.sat(x); got != c.top {
				t.Errorf("%s: saturating cast(%v) = %#x, want %#x", c.name, x, got, c.top)
			}
			if got, want := c.from(c.sat(-x)), -c.from(c.top); got != want {
				t.Errorf("%s: saturating cast(%v) means %v, want %v", c.name, -x, got, want)
			}
		}
	}
}

func TestEdgeOfOverflow(t *testing.T) {
	for _, tt := range []struct {
		name string
		cast func(float32) uint8
		x    float32
		want uint8
	}{
		{"E4M3, a tie goes to the even code", ToE4M3, 464, 0x7e},
		{"E4M3, just beyond", ToE4M3, next(464), 0x7f},
		{"E4M3, below, sign kept", ToE4M3, prev(-464), 0xff},
		{"E4M3 saturating, beyond", ToE4M3Sat, next(464), 0x7e},
		{"E4M3 NaN", ToE4M3, nan, 0x7f},
		{"E4M3 NaN, saturating", ToE4M3Sat, nan, 0x7f},
		{"FNUZ, the tie is already too large", ToE4M3FNUZ, 248, 0x80},
		{"FNUZ, just below", ToE4M3FNUZ, prev(248), 0x7f},
		{"FNUZ saturating, negative", ToE4M3FNUZSat, -300, 0xff},
		{"FNUZ has no negative zero", ToE4M3FNUZ, negZero, 0},
		{"FNUZ, too small to keep its sign", ToE4M3FNUZ, -1e-9, 0},
		{"E4M3 keeps the sign of a zero", ToE4M3, negZero, 0x80},
		{"E2M1 keeps the sign of a zero", ToE2M1, negZero, 8},
		{"E2M1, too small", ToE2M1, -.1, 8},
	} {
		if got := tt.cast(tt.x); got != tt.want {
			t.Errorf("%s: cast(%v) = %#x, want %#x", tt.name, tt.x, got, tt.want)
		}
	}
}

// FNUZ and E4M3 differ by a factor of two and in two codes; mistaking one for the other is silent otherwise.
func TestFNUZIsHalfOfE4M3(t *testing.T) {
	for code := range 256 {
		if code&0x7f == 0x7f || code == 0x80 {
			continue
		}
		if got, want := FromE4M3FNUZ(uint8(code)), FromE4M3(uint8(code))/2; got != want {
			t.Errorf("FromE4M3FNUZ(%#x) = %v, want %v", code, got, want)
		}
	}
	if got := FromE4M3FNUZ(0x7f); got != 240 {
		t.Errorf("FromE4M3FNUZ(0x7f) = %v, want 240", got)
	}
}

// nearest is the slow truth: the code whose number is nearest, ties to the even code.
func nearest(c codec, x float32) uint8 {
	best, gap := uint8(0), math.Inf(1)
	a := min(math.Abs(float64(x)), float64(c.from(c.top)))
	for code := range c.top + 1 {
		d := math.Abs(a - float64(c.from(code)))
		if d < gap || d == gap && code&1 == 0 {
			best, gap = code, d
		}
	}
	return best
}

func FuzzSaturatingCastIsNearest(f *testing.F) {
	for _, x := range []float32{0, 1, -3.3, 464, 1e-6, 0x1p-10, 1e30} {
		f.Add(math.Float32bits(x))
	}
	f.Fuzz(func(t *testing.T, b uint32) {
		x := math.Float32frombits(b)
		if x != x {
			return
		}
		for _, c := range codecs {
			got, want := c.from(c.sat(x)), c.from(nearest(c, x))
			if math.Abs(float64(got)) != float64(want) {
				t.Errorf("%s: saturating cast(%v) means %v, want %v", c.name, x, got, want)
			}
		}
	})
}

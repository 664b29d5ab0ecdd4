package arithmetic

import (
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	for _, tt := range []struct {
		prompt string
		hash   uint64
		class  uint64
	}{
		{"23+50+13-12=", 0xf233c14216a38794, 2},
		{"86*9-34=", 0x58b35a39b8185221, 1},
		{"58-36+22=", 0x77b4f9a5b70afb7e, 5},
		{"47+86-29=", 0x3cc25a84e91e382a, 4},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			h := hash(tt.prompt)
			if h != tt.hash || h>>32&7 != tt.class {
				t.Errorf("hash = %x, class %d, want %x, class %d", h, h>>32&7, tt.hash, tt.class)
			}
		})
	}
}

func TestSolutions(t *testing.T) {
	for _, tt := range []struct {
		prompt, solution, all string // all: every carry forgotten
		carries               int
	}{
		{"40*8+61=", `40*8=320 320+61=\boxed{381}`, `40*8=320 320+61=\boxed{381}`, 0},
		{"78-51+43+12=", `78-51=27 27+43=70 70+12=\boxed{82}`, `78-51=27 27+43=60 60+12=\boxed{72}`, 1},
		{"11*5+69-72=", `11*5=55 55+69=124 124-72=\boxed{52}`, `11*5=55 55+69=114 114-72=\boxed{142}`, 2},
		{"86*9-34=", `86*9=774 774-34=\boxed{740}`, `86*9=724 724-34=\boxed{790}`, 1},
		{"19+11-25=", `19+11=30 30-25=\boxed{5}`, `19+11=20 20-25=\boxed{-5}`, 2},
		{"19+11-25+30=", `19+11=30 30-25=5 5+30=\boxed{35}`, `19+11=20 20-25=-5 -5+30=\boxed{25}`, 2},
		{"19*2-13-24=", `19*2=38 38-13=25 25-24=\boxed{1}`, `19*2=28 28-13=15 15-24=\boxed{-9}`, 1},
		{"99+99+99=", `99+99=198 198+99=\boxed{297}`, `99+99=188 188+99=\boxed{177}`, 3},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			p := parse(t, tt.prompt)
			if got := p.Solution(); got != tt.solution {
				t.Errorf("solution is %s, want %s", got, tt.solution)
			}
			if got := (Teacher{1, 1, 1}).Solve(p, NewRand(0)); got != tt.all {
				t.Errorf("with every carry forgotten: %s, want %s", got, tt.all)
			}
			if got := p.Carries(); got != tt.carries {
				t.Errorf("%d carries, want %d", got, tt.carries)
			}
		})
	}
}

// parse reads a prompt that must be well formed.
func parse(t *testing.T, prompt string) Problem {
	t.Helper()
	p, err := Parse(prompt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// With nothing forgotten the columns must give what the machine gives, for all operands that can come up.
func TestColumnsAreArithmetic(t *testing.T) {
	never := func() bool { return false }
	for x := range 1000 {
		for y := range 100 {
			for _, sign := range []byte("+-*") {
				if sign == '*' && y > 9 {
					continue
				}
				if got, want := inColumns(sign, x, y, never), exactly(sign, x, y); got != want {
					t.Fatalf("%d%c%d in columns is %d, want %d", x, sign, y, got, want)
				}
			}
		}
	}
}

func TestForgettingIsBySign(t *testing.T) {
	p := parse(t, "86*9+57-45=") // a carry in the product, two in the sum, two borrows in the difference
	want := map[string]Teacher{
		`86*9=724 724+57=781 781-45=\boxed{736}`: {Times: 1},
		`86*9=774 774+57=721 721-45=\boxed{676}`: {Plus: 1},
		`86*9=774 774+57=831 831-45=\boxed{896}`: {Minus: 1},
		`86*9=774 774+57=831 831-45=\boxed{786}`: {},
	}
	for solution, teacher := range want {
		if got := teacher.Solve(p, NewRand(0)); got != solution {
			t.Errorf("%+v writes %s, want %s", teacher, got, solution)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, prompt := range []string{
		"", "=", "12=", "12+13=", "12+13+14", "12+13+14+15+16=", "12+3+14=", "12*1+14=", "12+13*4=", "12-13+14=", "99*9+99+99=",
		"+12+13+14=", "012+13+14=", "12/13+14=", " 12+13+14=", "12+13+14= ", "12++14=", "12*9*9=", "12+13+14+=",
	} {
		if p, err := Parse(prompt); err == nil || !strings.Contains(err.Error(), "prompt is") {
			t.Errorf("Parse(%q) = %v, %v, want an error", prompt, p, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("86*9-34=")
	f.Add("23+50+13-12=")
	f.Fuzz(func(t *testing.T, prompt string) {
		p, err := Parse(prompt)
		if err == nil && (p.String() != prompt || !strings.HasSuffix(p.Solution(), "}")) {
			t.Fatalf("Parse(%q) is %v with solution %s", prompt, p, p.Solution())
		}
	})
}

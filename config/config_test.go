package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// every has a field of each kind.
type every struct {
	Switch  bool              `flag:"switch" help:"a switch"`
	Deter   bool              `flag:"no-shuffle" help:"a switch whose name begins with no-"`
	Maybe   *bool             `flag:"maybe" help:"a switch that may be undecided"`
	Int     int               `flag:"int,integer" help:"a whole number"`
	Small   int8              `flag:"small" help:"eight bits"`
	Seed    uint64            `flag:"seed" help:"not negative"`
	Float   float64           `flag:"float" help:"a number"`
	Half    float32           `flag:"half" help:"a shorter number"`
	Text    string            `flag:"text" help:"any word"`
	Choice  string            `flag:"choice" choices:"red green" help:"one of two"`
	Time    time.Duration     `flag:"time" help:"how long"`
	Bytes   int64             `flag:"bytes" unit:"bytes" help:"a size"`
	Count   int               `flag:"count" unit:"count" help:"how many"`
	Words   []string          `flag:"words" help:"several words"`
	Ints    []int             `flag:"ints" help:"several numbers"`
	Env     map[string]string `flag:"env" help:"variables"`
	TopP    *float64          `flag:"top-p" help:"may be absent"`
	Level   level             `flag:"level" help:"reads itself"`
	Ignored string
	Inner   inner    `group:"Inside"`
	Out     string   `arg:"[OUT]" help:"where to"`
	Rest    []string `arg:"[FILE]" help:"what"`
}

type inner struct {
	Depth int `flag:"depth" help:"how deep"`
}

func (in inner) Validate() error {
	if in.Depth < 0 {
		return fmt.Errorf("--depth is %d, want 0 or more", in.Depth)
	}
	return nil
}

type level int

func (l level) MarshalText() ([]byte, error) { return []byte(strings.Repeat("i", int(l))), nil }

func (l *level) UnmarshalText(text []byte) error {
	if strings.Trim(string(text), "i") != "" || len(text) > 3 {
		return errors.New("want up to three i")
	}
	*l = level(len(text))
	return nil
}

func newEvery() (*every, *Set) {
	c := &every{Int: 7, Words: []string{"a", "b"}, Choice: "red", Bytes: 512 << 20, Count: 1500}
	return c, New("test", "A test.").Add("All", c).Layered("").Accept([]Option{
		{Name: "idle", Takes: One, Why: "nothing to do"},
		{Name: "held", Takes: One, Kind: Held, Only: []string{"1"}, Why: "there is one"},
		{Name: "size", Takes: Some, Kind: Stated, Why: "the model has one"},
		{Name: "never", Kind: Refused, Why: "it is not built in"},
	})
}

func TestParse(t *testing.T) {
	half := 0.5
	yes, no := true, false
	for _, tt := range []struct {
		name string
		args string
		want func(*every)
	}{
		{"nothing", "", func(*every) {}},
		{"two words", "--int 3", func(c *every) { c.Int = 3 }},
		{"one word", "--int=3", func(c *every) { c.Int = 3 }},
		{"other spelling", "--integer 3", func(c *every) { c.Int = 3 }},
		{"last wins", "--int 3 --int=4", func(c *every) { c.Int = 4 }},
		{"negative", "--int -3 --float -1e-3", func(c *every) { c.Int, c.Float = -3, -1e-3 }},
		{"switch", "--switch", func(c *every) { c.Switch = true }},
		{"switch off", "--switch --no-switch", func(*every) {}},
		{"switch with a word", "--switch=yes", func(c *every) { c.Switch = true }},
		{"name begins with no", "--no-shuffle", func(c *every) { c.Deter = true }},
		{"double no", "--no-shuffle --no-no-shuffle", func(*every) {}},
		{"decided", "--maybe", func(c *every) { c.Maybe = &yes }},
		{"decided against", "--no-maybe", func(c *every) { c.Maybe = &no }},
		{"several words", "--words x y z --int 1", func(c *every) { c.Words, c.Int = []string{"x", "y", "z"}, 1 }},
		{"no words", "--no-words", func(c *every) { c.Words = nil }},
		{"numbers", "--ints 1 -2 3", func(c *every) { c.Ints = []int{1, -2, 3} }},
		{"optional", "--top-p 0.5", func(c *every) { c.TopP = &half }},
		{"optional again absent", "--top-p 0.5 --no-top-p", func(*every) {}},
		{"value that looks like a flag", "--text=--switch", func(c *every) { c.Text = "--switch" }},
		{"empty value", "--text=", func(*every) {}},
		{"quoted", "--text 'a b'", func(c *every) { c.Text = "a b" }},
		{"quoted, with dashes", "--text '--a b'", func(c *every) { c.Text = "--a b" }},
		{"bytes", "--bytes 1.5GiB", func(c *every) { c.Bytes = 3 << 29 }},
		{"bytes, decimal", "--bytes 2MB", func(c *every) { c.Bytes = 2e6 }},
		{"count", "--count 8k", func(c *every) { c.Count = 8000 }},
		{"count, binary", "--count 8Ki", func(c *every) { c.Count = 8192 }},
		{"count, exponent", "--count 2e6", func(c *every) { c.Count = 2e6 }},
		{"time", "--time 1m30s", func(c *every) { c.Time = 90 * time.Second }},
		{"time in seconds", "--time 0.5", func(c *every) { c.Time = time.Second / 2 }},
		{"reads itself", "--level iii", func(c *every) { c.Level = 3 }},
		{"nested", "--depth 2", func(c *every) { c.Inner.Depth = 2 }},
		{"variables", "--env 'A=1\nB=x=y   C='", func(c *every) { c.Env = map[string]string{"A": "1", "B": "x=y", "C": ""} }},
		{"variables, quoted", `--env "A='1 2'"`, func(c *every) { c.Env = map[string]string{"A": "1 2"} }},
		{"variables, JSON", `--env '{"A":"1 2","B":3}'`, func(c *every) { c.Env = map[string]string{"A": "1 2", "B": "3"} }},
		{"extra", "--extra-args '--int 5 --switch' --int 3", func(c *every) { c.Int, c.Switch = 5, true }},
		{"extra, one word", "--extra-args --switch --int 3", func(c *every) { c.Int, c.Switch = 3, true }},
		{"extra, none", "--extra-args '' --int 3", func(c *every) { c.Int = 3 }},
		{"extra, quotes inside", `--extra-args '--text "a  b"'`, func(c *every) { c.Text = "a  b" }},
		{"positional", "out --int 3 x y", func(c *every) { c.Out, c.Rest, c.Int = "out", []string{"x", "y"}, 3 }},
		{"end of flags", "--words x -- out --int", func(c *every) { c.Words, c.Out, c.Rest = []string{"x"}, "out", []string{"--int"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args, err := Split(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			got, set := newEvery()
			if err := set.Parse(args); err != nil {
				t.Fatalf("Parse(%q): %v", args, err)
			}
			want, _ := newEvery()
			tt.want(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("Parse(%q) = %+v, want %+v", args, got, want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--int x", `--int is "x", want a whole number of 64 bits`},
		{"--int 1.5", `--int is "1.5", want a whole number of 64 bits`},
		{"--small 128", `--small is "128", want a whole number of 8 bits`},
		{"--seed -1", `--seed is "-1", want a whole number of 64 bits, not negative`},
		{"--float nan", `--float is "nan", want a number`},
		{"--int", `--int wants a value`},
		{"--int --switch", `--int wants a value`},
		{"--words --switch", `--words wants a value`},
		{"--switch=maybe", `--switch is "maybe", want true or false`},
		{"--no-switch=1", `--no-switch takes no value, got "1"`},
		{"--choice blue", `--choice is "blue", want red, green`},
		{"--bytes 2M", `--bytes is "2M", want a number and one of TiB GiB MiB KiB TB GB MB kB KB B`},
		{"--bytes 1.5B", `--bytes is "1.5B", want a whole number`},
		{"--count 1e999999999", `--count is "1e999999999", want a number and one of Gi Mi Ki G M k`},
		{"--time soon", `--time is "soon", want a time such as 90s or 1m30s`},
		{"--level iv", `--level is "iv": want up to three i`},
		{"--env A", `--env is "A", want NAME=VALUE`},
		{`--env '{"A":[1]}'`, `--env is "{\"A\":[1]}": A is [1], want a string or a number`},
		{"--switsh 3", `unknown flag --switsh, did you mean --switch?`},
		{"--no-switsh", `unknown flag --no-switsh, did you mean --no-switch?`},
		{"--zzzzzzzz", `unknown flag --zzzzzzzz; --help lists the flags`},
		{"--no-int", `unknown flag --no-int; --int always has a value`},
		{"--extra-args '--itn 3'", `flag --extra-args: unknown flag --itn, did you mean --int?`},
		{"--extra-args '--int x'", `flag --extra-args: --int is "x", want a whole number of 64 bits`},
		{"--extra-args 'x'", `flag --extra-args: unexpected word "x", want a flag`},
		{`--extra-args "'"`, `flag --extra-args: line 1: quote ' is not closed`},
		{"--extra-args '--extra-args x'", `flag --extra-args: --extra-args: not inside --extra-args`},
		{"--recipe tiny-arithmetik", `--recipe is "tiny-arithmetik", want one of ` + strings.Join(Recipes(), ", ") + `, did you mean tiny-arithmetic?`},
		{"--held 2", `--held is 2, want 1: there is one`},
		{"--never", `--never cannot be obeyed: it is not built in`},
		{"--depth -1", `--depth is -1, want 0 or more`},
		{"--depth x", `--depth is "x", want a whole number of 64 bits`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args, err := Split(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			_, set := newEvery()
			if got := fmt.Sprint(set.Parse(args)); got != tt.want {
				t.Errorf("Parse(%q) = %s\nwant %s", args, got, tt.want)
			}
		})
	}
}

func TestParseReportsEverythingAtOnce(t *testing.T) {
	_, set := newEvery()
	err := set.Parse([]string{"--int", "x", "--swich", "--float", "--depth", "-1", "--never"})
	want := []string{
		"unknown flag --swich, did you mean --switch?",
		"--float wants a value",
		`--int is "x", want a whole number of 64 bits`,
		"--never cannot be obeyed: it is not built in",
		"--depth is -1, want 0 or more",
	}
	var got []string
	for _, p := range Problems(err) {
		got = append(got, p.Error())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("problems are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestHelpStoresNothing(t *testing.T) {
	for _, h := range []string{"-h", "--help"} {
		c, set := newEvery()
		if err := set.Parse([]string{"--int", "3", "--unknown", "x", h}); !errors.Is(err, ErrHelp) {
			t.Errorf("Parse(%s) = %v, want ErrHelp", h, err)
		}
		if c.Int != 7 {
			t.Errorf("after %s, Int is %d, want 7", h, c.Int)
		}
	}
}

type complaint struct {
	Low  int `flag:"low" help:"the lower"`
	High int `flag:"high" help:"the higher"`
}

func (c complaint) Validate() error {
	if c.Low > c.High {
		return fmt.Errorf("--low is %d, want at most --high (%d)", c.Low, c.High)
	}
	return nil
}

// A complaint about a value that nobody gave, because what was given could not be read, would mislead.
func TestValidateIsSilentAboutWhatCouldNotBeRead(t *testing.T) {
	c := complaint{Low: 1, High: 2}
	err := New("test", "").Add("All", &c).Parse([]string{"--low", "8", "--high", "9O"})
	if got, want := fmt.Sprint(err), `--high is "9O", want a whole number of 64 bits`; got != want {
		t.Errorf("error is %s, want %s", got, want)
	}
}

func TestSharedFlag(t *testing.T) {
	type a struct {
		N []int `flag:"n" help:"how many"`
	}
	type b struct {
		M []int `flag:"n"`
	}
	x, y := a{}, b{}
	if err := New("test", "").Add("All", &x, &y).Parse([]string{"--n", "3"}); err != nil {
		t.Fatal(err)
	}
	if x.N[0] != 3 || y.M[0] != 3 {
		t.Errorf("got %v and %v, want 3 in both", x.N, y.M)
	}
	x.N[0] = 4
	if y.M[0] != 3 {
		t.Error("two fields share one slice")
	}
}

func TestAddPanics(t *testing.T) {
	for _, tt := range []struct {
		name string
		add  func(*Set)
	}{
		{"not a pointer", func(s *Set) { s.Add("g", every{}) }},
		{"unknown kind", func(s *Set) {
			s.Add("g", &struct {
				C chan int `flag:"c" help:"h"`
			}{})
		}},
		{"bad name", func(s *Set) {
			s.Add("g", &struct {
				C int `flag:"--c" help:"h"`
			}{})
		}},
		{"no help", func(s *Set) {
			s.Add("g", &struct {
				C int `flag:"c"`
			}{})
			s.Parse(nil)
		}},
		{"two types", func(s *Set) {
			s.Add("g", &complaint{}, &struct {
				L string `flag:"low" help:"h"`
			}{})
		}},
		{"two defaults", func(s *Set) { s.Add("g", &complaint{}, &complaint{Low: 1}) }},
		{"not exported", func(s *Set) {
			s.Add("g", &struct {
				c int `flag:"c" help:"h"`
			}{})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			tt.add(New("test", ""))
		})
	}
}

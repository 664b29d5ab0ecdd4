package servertest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Run asks all numbered questions, as subtests GROUP/T01_NAME. A test that the target can't be asked is skipped and says what it lacks. The last one wants a
// connection that has idled for a minute: before it meanwhile is run, which may be nil.
func Run(t *testing.T, g *Target, meanwhile func(*testing.T)) {
	r := run{idle: rest(t, g), client: new(foreigner)}
	for _, group := range Groups() {
		if group.Name == last.Name && meanwhile != nil {
			t.Run("meanwhile", meanwhile)
		}
		t.Run(group.Name, func(t *testing.T) { r.group(t, g, group) })
	}
	if g.Start != nil && g.Spelled != "" {
		t.Run("spelled", func(t *testing.T) { r.spelled(t, g.Start(t, "--model-path", g.Spelled)) })
	}
}

// spelled asks again what depends on the tokenizer.
func (r run) spelled(t *testing.T, g *Target) {
	for _, test := range Tests() {
		if n := test.Number; slices.Contains([]int{24, 27, 31, 33, 34, 35, 80, 83}, n) || n >= 84 && n <= 93 {
			t.Run(test.Title(), func(t *testing.T) {
				c := begin(t, g)
				test.do(c)
				c.alive()
			})
		}
	}
}

// A run is what the tests of one run share.
type run struct {
	idle   *resting
	client *foreigner
}

func (r run) group(t *testing.T, g *Target, group Group) {
	if g.Start != nil && (len(group.Flags) > 0 || group.Own) {
		g = g.Start(t, group.Flags...)
	}
	for _, test := range Tests() {
		if test.Group.Name != group.Name {
			continue
		}
		t.Run(test.Title(), func(t *testing.T) {
			c := begin(t, g)
			c.idle = r.idle
			if g.Start == nil && !group.Any && !c.has(group.Flags) {
				t.Skipf("needs a server started with %s", strings.Join(group.Flags, " "))
			}
			test.do(c)
			c.alive()
			if number := test.Number; number >= 84 && number <= 89 {
				t.Run("openai_client", func(t *testing.T) { r.client.ask(t, g, number) })
			}
		})
	}
}

// alive fails unless the server still answers.
func (c *check) alive() {
	c.Helper()
	if a := c.get("/health"); a.err != nil || a.status != 200 {
		c.Errorf("afterwards %v, want 200", a)
	}
}

// has reports whether the server says that it runs under flags.
func (c *check) has(flags []string) bool {
	for i, f := range flags {
		name, ok := strings.CutPrefix(f, "--")
		if !ok {
			continue
		}
		var want any = true
		if i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "--") {
			want = flags[i+1]
		}
		got := c.told[strings.ReplaceAll(name, "-", "_")]
		if n, ok := got.(json.Number); ok {
			got = n.String()
		}
		if got != want {
			return false
		}
	}
	return true
}

// context returns how many tokens prompt and answer may have together.
func (c *check) context() int {
	c.Helper()
	if n := c.fact("context_length"); n > 0 {
		return n
	}
	if c.facts.Position > 0 {
		return c.facts.Position
	}
	c.Skipf("needs context_length in /server_info, or the folder of the model")
	return 0
}

// vocabulary returns the number of tokens, where it is known.
func (c *check) vocabulary() int {
	c.Helper()
	if c.facts.Vocab == 0 {
		c.Skipf("needs the folder of the served model, for the size of its vocabulary")
	}
	return c.facts.Vocab
}

// eos returns the token that ends answers, where it is known.
func (c *check) eos() int {
	c.Helper()
	if c.facts.EOS == 0 {
		c.Skipf("needs the folder of the served model, for its end token")
	}
	return c.facts.EOS
}

// bias is a logit_bias of +100 on one token.
func bias(token int) m { return m{"logit_bias": m{strconv.Itoa(token): 100}} }

// long returns so many tokens that an answer of them is still being made when the test has done what it does.
func (c *check) long() int {
	c.Helper()
	return min(c.context()-256, 6000)
}

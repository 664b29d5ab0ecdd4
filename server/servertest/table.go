package servertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Test is one numbered check.
type Test struct {
	Number  int
	Name    string
	Means   string // what must hold, in one line
	Differs string // where Furlong differs from SGLang on purpose, and why
	Group   Group
	do      func(c *check)
}

// Title returns the name of the subtest.
func (t Test) Title() string { return fmt.Sprintf("T%02d_%s", t.Number, t.Name) }

// A Group is the kind of server that tests share.
type Group struct {
	Name  string
	Flags []string // what it is started with, besides the model
	Own   bool     // started for the group even without flags, because its tests leave other weights behind
	Any   bool     // a server without the flags is asked too: tests look at its limits themselves
}

// The kinds of servers.
var (
	plain    = Group{Name: "plain"}
	keyed    = Group{Name: "key", Flags: []string{"--api-key", secret}}
	running  = Group{Name: "running", Flags: []string{"--max-running-requests", "3"}, Any: true}
	queued   = Group{Name: "queue", Flags: []string{"--max-running-requests", "2", "--max-queued-requests", "2"}, Any: true}
	pool     = Group{Name: "pool", Flags: []string{"--max-total-tokens", "1600"}, Any: true}
	chunked  = Group{Name: "chunk", Flags: []string{"--chunked-prefill-size", "64"}, Any: true}
	paged    = Group{Name: "page", Flags: []string{"--page-size", "32"}, Any: true}
	experts  = Group{Name: "experts", Flags: []string{"--enable-return-routed-experts"}}
	weights  = Group{Name: "weights", Own: true}
	strict   = Group{Name: "strict", Flags: []string{flagStrict}, Own: true}
	memory   = Group{Name: "memory", Flags: []string{"--enable-memory-saver", "--max-total-tokens", "200000"}, Own: true}
	separate = Group{Name: "separate"} // each test starts its own
	last     = Group{Name: "last"}     // as plain, after all others
)

// secret is the API key of the group that has one.
const secret = "sk-of-the-suite"

// Groups returns the kinds of servers in the order in which they are asked.
func Groups() []Group {
	return []Group{plain, keyed, running, queued, pool, chunked, paged, experts, weights, strict, memory, separate, last}
}

// Tests returns all checks by number.
func Tests() []Test {
	all := slices.Concat(
		transport(), core(), sampling(), logprobs(), cache(), scheduling(), aborts(), pauses(), info(), streams(), openAI(), updates(), formats(), deltas(), checkers(),
		spans(), memories(), routing(), routers(), determinism(),
	)
	slices.SortFunc(all, func(a, b Test) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Markdown returns the table for the documentation: every number, and those that differ with the reason.
func Markdown() string {
	var all, differ strings.Builder
	all.WriteString("| number | what must hold | server |\n|---|---|---|\n")
	differ.WriteString("| number | what Furlong does, and why |\n|---|---|\n")
	for _, t := range Tests() {
		fmt.Fprintf(&all, "| T%02d | %s | %s |\n", t.Number, cell(t.Means), t.Group.Name)
		if t.Differs != "" {
			fmt.Fprintf(&differ, "| T%02d | %s |\n", t.Number, cell(t.Differs))
		}
	}
	return all.String() + "\n" + differ.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

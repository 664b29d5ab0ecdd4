package summary

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An Account says what became of all that was handed out, as the last cycle trained.
type Account struct {
	Tokens  Tally `json:"tokens"`
	Samples Tally `json:"samples"`
	Prompts Tally `json:"prompts"`
}

// A Tally is the account of things of one kind. Generated is the sum of the others.
type Tally struct {
	Generated int64            `json:"generated"`
	Trained   int64            `json:"trained"`
	Masked    int64            `json:"masked"`
	Waiting   int64            `json:"waiting"`
	Dropped   int64            `json:"dropped"`
	Why       map[string]int64 `json:"why,omitempty"` // dropped and masked tokens, by reason
}

// accountOf reads a cycle's row, which has no account where an older build wrote it.
func accountOf(values map[string]float64) *Account {
	if _, there := values["account/tokens/generated"]; !there {
		return nil
	}
	a := &Account{}
	for kind, t := range map[string]*Tally{"tokens": &a.Tokens, "samples": &a.Samples, "prompts": &a.Prompts} {
		n := func(name string) int64 { return int64(values["account/"+kind+"/"+name]) }
		*t = Tally{Generated: n("generated"), Trained: n("trained"), Masked: n("masked"), Waiting: n("waiting"), Dropped: n("dropped")}
	}
	a.Tokens.Why = map[string]int64{}
	for _, fate := range []string{"dropped/", "masked/"} {
		for name, v := range values {
			if reason, ok := strings.CutPrefix(name, "account/tokens/"+fate); ok {
				a.Tokens.Why[reason] += int64(v)
			}
		}
	}
	return a
}

// print prints the line of the closing table.
func (a *Account) print(w io.Writer) {
	t := a.Tokens
	fmt.Fprintf(w, "tokens generated\t%d = %d trained + %d masked + %d waiting + %d dropped", t.Generated, t.Trained, t.Masked, t.Waiting, t.Dropped)
	for i, reason := range slices.Sorted(maps.Keys(t.Why)) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(w, "%s%d %s", sep, t.Why[reason], reason)
	}
	fmt.Fprintln(w)
}

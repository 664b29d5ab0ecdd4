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
	Generated  int64            `json:"generated"`
	Trained    int64            `json:"trained"`
	Masked     int64            `json:"masked"`
	Waiting    int64            `json:"waiting"`
	Dropped    int64            `json:"dropped"`
	MaskedFor  map[string]int64 `json:"masked_for,omitempty"`  // tokens, by reason
	DroppedFor map[string]int64 `json:"dropped_for,omitempty"` // tokens, by reason
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
	a.Tokens.MaskedFor, a.Tokens.DroppedFor = reasons(values, "masked"), reasons(values, "dropped")
	return a
}

// reasons returns the tokens of one fate by reason.
func reasons(values map[string]float64, fate string) map[string]int64 {
	out := map[string]int64{}
	for name, v := range values {
		if reason, ok := strings.CutPrefix(name, "account/tokens/"+fate+"/"); ok {
			out[reason] = int64(v)
		}
	}
	return out
}

// print prints the line of the closing table.
func (a *Account) print(w io.Writer) {
	t := a.Tokens
	fmt.Fprintf(w, "tokens generated\t%d = %d trained + %d masked%s + %d waiting + %d dropped%s\n",
		t.Generated, t.Trained, t.Masked, inBrackets(t.MaskedFor), t.Waiting, t.Dropped, inBrackets(t.DroppedFor))
}

// inBrackets lists numbers by reason, if there are any.
func inBrackets(by map[string]int64) string {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%d %s", by[reason], reason))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

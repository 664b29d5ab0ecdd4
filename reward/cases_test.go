package reward

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"furlong/rl"
)

// A held case has a gold answer, a response and the verdict that the rules of its mode give: true, false, or null where there is
// nothing to judge by. One with a deviation is judged otherwise here, on purpose.
type heldCase struct {
	Gold      json.RawMessage
	Answer    string
	Equal     *bool
	Family    string
	Deviation string
}

// verdict says what a case wants.
func (c heldCase) verdict() rl.Verdict {
	switch {
	case c.Equal == nil:
		return rl.Invalid
	case *c.Equal != (c.Deviation != ""):
		return rl.Right
	}
	return rl.Wrong
}

// heldCases reads the cases of a mode; the README beside them says where their verdicts come from.
func heldCases(t *testing.T, mode string) (all []heldCase) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "cases", mode+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		var c heldCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatalf("%s: line %d: %v", mode, len(all)+1, err)
		}
		all = append(all, c)
	}
	if err := in.Err(); err != nil || len(all) < 300 {
		t.Fatalf("%s: %d cases, %v, want 300 and more", mode, len(all), err)
	}
	return all
}

// Every mode gives the verdicts of its rules on cases that were written, or measured, without it.
func TestHeldCases(t *testing.T) {
	for _, mode := range []string{"furlong", "math", "dapo", "math-verify", "gsm8k", "countdown", "exact"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for i, c := range heldCases(t, mode) {
				got, why := rl.Invalid, ""
				g, err := ReadGold(c.Gold)
				if err == nil {
					got, why, err = Judge(mode, Rules{}, c.Answer, g)
				}
				if got != c.verdict() {
					t.Errorf("line %d, %s: %q for %s is %v, want %v: %s %v", i+1, c.Family, c.Answer, c.Gold, got, c.verdict(), why, err)
				}
			}
		})
	}
}

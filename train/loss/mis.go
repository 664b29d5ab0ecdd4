package loss

import (
	"fmt"
	"math"
	"strconv"
)

// MIS says how importance weights are made, bounded and rejected where --is-correction is mis.
type MIS struct {
	Level     string  `flag:"tis-level" help:"mis: what has an importance weight: token (ratio of its probabilities), sequence (product of its tokens' ratios), geometric (their geometric mean)"`
	Mode      string  `flag:"tis-mode" help:"mis: what becomes of a weight outside the bounds: truncate (capped from above), clip (to the nearer bound), mask (its tokens lose their policy term)"`
	Upper     float64 `flag:"tis-upper-bound" help:"mis: upper bound of the weight"`
	Lower     Bound   `flag:"tis-lower-bound" help:"mis: lower bound of the weight, for clip and mask; auto is 1 over the upper one"`
	Reject    bool    `flag:"use-rs" help:"mis: take the policy term of tokens or sequences outside the rejection bounds away"`
	RSLevel   string  `flag:"rs-level" help:"mis: what rejection judges: token, sequence, geometric"`
	RSUpper   Bound   `flag:"rs-upper-bound" help:"mis: reject above this; auto is --tis-upper-bound"`
	RSLower   Bound   `flag:"rs-lower-bound" help:"mis: reject below this; auto is --tis-lower-bound"`
	Veto      float64 `flag:"rs-veto-threshold" help:"mis: one token whose ratio is below this rejects its whole sequence; 0 is off"`
	Normalize bool    `flag:"tis-batch-normalize" help:"mis: divide weights by their mean over the global batch; where the trainer has not scored the batch it does so before the step, one more forward pass"`
}

// The levels of an importance weight.
const (
	Token     = "token"     // each token its own
	Sequence  = "sequence"  // all tokens of a sample the product of theirs
	Geometric = "geometric" // all tokens of a sample the geometric mean of theirs
	levels    = Token + " " + Sequence + " " + Geometric
)

// What becomes of a weight outside its bounds.
const (
	truncate = "truncate"
	clip     = "clip"
	mask     = "mask"
	modes    = truncate + " " + clip + " " + mask
)

func defaultMIS() MIS {
	return MIS{Level: Token, Mode: truncate, Upper: 2, Reject: true, RSLevel: Token, Veto: 1e-4, Normalize: true}
}

// A Bound is a number, or auto: what another setting says. The zero Bound is auto.
type Bound struct {
	Given bool
	Value float64
}

// At returns the bound that is the number v.
func At(v float64) Bound { return Bound{Given: true, Value: v} }

func (b Bound) or(v float64) float64 {
	if b.Given {
		return b.Value
	}
	return v
}

// String returns the number, or auto.
func (b Bound) String() string {
	if !b.Given {
		return "auto"
	}
	return strconv.FormatFloat(b.Value, 'g', -1, 64)
}

// MarshalText writes what UnmarshalText reads.
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a number, or auto.
func (b *Bound) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*b = Bound{}
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("want a number, or auto")
	}
	*b = At(v)
	return nil
}

// validate reports what is wrong with m. The bounds hold 1, the ratio of one policy to itself: what is on policy is never touched.
func (m MIS) validate(bad func(format string, args ...any), oneOf func(flag, got, allowed string)) {
	oneOf("tis-level", m.Level, levels)
	oneOf("rs-level", m.RSLevel, levels)
	oneOf("tis-mode", m.Mode, modes)
	upper := func(flag string, v float64) {
		if !(v >= 1) || math.IsInf(v, 1) {
			bad("--%s is %v, want 1 or more: 1 is the weight of a token on policy", flag, v)
		}
	}
	lower := func(flag string, v float64) {
		if !(v >= 0 && v <= 1) {
			bad("--%s is %v, want from 0 to 1: 1 is the weight of a token on policy", flag, v)
		}
	}
	upper("tis-upper-bound", m.Upper)
	upper("rs-upper-bound", m.RSUpper.or(1))
	lower("tis-lower-bound", m.Lower.or(1))
	lower("rs-lower-bound", m.RSLower.or(1))
	if !(m.Veto >= 0 && m.Veto < 1) {
		bad("--rs-veto-threshold is %v, want 0 (off) or less than 1", m.Veto)
	}
}

// idle names the flags of m that change nothing although a mis correction is made or measured.
func (m MIS) idle(add func(is bool, why string, flags ...string)) {
	add(!m.Reject, "--use-rs is off", "rs-level", "rs-upper-bound", "rs-lower-bound", "rs-veto-threshold")
	add(m.Mode == truncate && !m.Reject, "--tis-mode truncate has no lower bound and --use-rs is off", "tis-lower-bound")
	add(m.Mode == truncate && m.RSLower.Given, "--tis-mode truncate has no lower bound and --rs-lower-bound is given", "tis-lower-bound")
}

// rule returns m with its bounds filled in.
func (m MIS) rule() rule {
	low := m.Lower.or(1 / m.Upper)
	return rule{
		level: m.Level, mode: m.Mode, low: low, high: m.Upper, normalize: m.Normalize,
		reject: m.Reject, rsLevel: m.RSLevel, rsLow: m.RSLower.or(low), rsHigh: m.RSUpper.or(m.Upper), veto: m.Veto,
	}
}

package layout

import (
	"fmt"
	"math"

	"furlong/train/schedule"
)

// A Step is what its micro-batches depend on besides the layout.
type Step struct {
	Samples  int
	Tokens   int // of a micro-batch on one device
	Longest  int // tokens of a sample, prompt and response
	Response int // tokens of a response
}

// A Packing is the micro-batches of a step on data parallel ranks. How long samples are is not known before they are drawn, so Lengths says what is assumed.
type Packing struct {
	Lengths string  `json:"lengths"`
	Tokens  int     `json:"tokens_per_step"`
	PerRank int     `json:"micro_batches_per_rank"`
	Largest int     `json:"tokens_of_the_largest"`
	Fullest float64 `json:"fullest_rank_over_mean"`
	InTurn  float64 `json:"dealt_in_turn"` // the same without balance
}

// packable is the largest step that is packed: more is of no use, and takes long.
const packable = 1 << 13

// Pack plans the micro-batches of a step: for samples that are all as long as they may be, and for responses whose lengths spread as those of models do. It
// returns none for one rank, which packs samples in their order, and for steps of more than 8,192 samples.
func (p Plan) Pack(s Step) ([]Packing, error) {
	if p.Data < 2 || s.Samples > packable {
		return nil, nil
	}
	var out []Packing
	for _, a := range []struct {
		what    string
		lengths []int
	}{
		{fmt.Sprintf("every sample has %d tokens, the most there may be", s.Longest), alike(s.Samples, s.Longest)},
		{fmt.Sprintf("responses spread like a log-normal around a quarter of %d tokens (an assumption; prompts are not counted)", s.Response), spread(s.Samples, s.Response)},
	} {
		all, err := p.pack(a.lengths, min(s.Tokens, math.MaxInt/p.Context)*p.Context)
		if err != nil {
			return nil, fmt.Errorf("a step's micro-batches (--global-batch-size, --max-tokens-per-gpu): %w", err)
		}
		all.Lengths = a.what
		out = append(out, all)
	}
	return out, nil
}

// pack plans micro-batches of samples of these lengths.
func (p Plan) pack(lengths []int, budget int) (Packing, error) {
	balanced, err := schedule.New(lengths, schedule.Config{Ranks: p.Data, Budget: budget})
	if err != nil {
		return Packing{}, err
	}
	inTurn, err := schedule.New(lengths, schedule.Config{Ranks: p.Data, Budget: budget, Deal: schedule.InTurn})
	if err != nil {
		return Packing{}, err
	}
	out := Packing{PerRank: balanced.MicroBatches(), Fullest: balanced.Imbalance(), InTurn: inTurn.Imbalance()}
	for _, all := range balanced.Ranks {
		out.Largest = max(out.Largest, all[0].Tokens)
	}
	for _, n := range balanced.Tokens() {
		out.Tokens += n
	}
	return out, nil
}

// alike returns n times the same length.
func alike(n, length int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = length
	}
	return out
}

// spread returns n quantiles of a log-normal around a quarter of the longest, cut off there. One standard deviation is a factor of 2.2: a sixth are longer than
// 0.56 of the longest, and one in twenty-four is cut off.
func spread(n, longest int) []int {
	out := make([]int, n)
	for i := range out {
		z := math.Sqrt2 * math.Erfinv((2*float64(i)+1)/float64(n)-1)
		out[i] = min(longest, max(1, int(float64(longest)/4*math.Exp(0.8*z))))
	}
	return out
}

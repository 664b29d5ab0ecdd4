package dashgen

import (
	"math/rand/v2"

	"furlong/rl"
)

// swayed is the layer in which the trainer's router chose one expert otherwise where the gap is planted.
const swayed = 1

// routes gives a sample experts of both engines. Behind the response tokens from one to another they share all but one of layer swayed.
func routes(s *rl.Sample, from, to int) {
	r := rand.New(rand.NewPCG(uint64(s.Request), 5)) // dice of its own: all else stays as it was drawn
	s.Experts, s.TrainExperts = rl.NewRoutes(layers, choices, experts), rl.NewRoutes(layers, choices, experts)
	p := len(s.Prompt.Tokens)
	for t := range p + len(s.Response) - 1 {
		var row []int32
		for range layers {
			for _, e := range r.Perm(experts)[:choices] {
				row = append(row, int32(e))
			}
		}
		s.Experts.Add(row)
		if i := t + 1 - p; i >= from && i < to {
			first, last := row[swayed*choices], &row[swayed*choices+choices-1]
			if *last = (*last + 1) % experts; *last == first {
				*last = (*last + 1) % experts
			}
		}
		s.TrainExperts.Add(row)
	}
}

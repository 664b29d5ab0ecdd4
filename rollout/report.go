package rollout

import (
	"fmt"
	"slices"

	"furlong/rl"
	"furlong/rollout/sample"
	"furlong/tensor"
)

// A row of logits gives the logprob of the token that follows. What a Report asks for besides is made of the same row, with the arithmetic of the
// kernel that gives that logprob, so that a token has one logprob wherever it is told.

// pieceBytes bounds the logits of scored rows that are in memory at a time.
const pieceBytes = 8 << 20

// A scored row gives the logprob of a token of a prompt.
type scored struct {
	r     *request
	row   int32 // of the lane's tokens: the one before the scored one
	token int32 // the scored one
}

// tells reports whether r is told more than logprobs.
func (r *request) tells() bool { return r.ask.Report.Top > 0 || len(r.ask.Report.Among) > 0 }

// unscored returns the first token of the prompt whose logprob is wanted and not there; the prompt's length when there is none.
func (r *request) unscored() int {
	return len(r.sample.Prompt.Tokens) - r.ask.Report.Tail + len(r.sample.PromptLogProbs)
}

// findable returns how many tokens of r may come from the prefix cache: all but those whose rows of logits are still wanted.
func (r *request) findable() int {
	if first := r.unscored(); first < len(r.sample.Prompt.Tokens) {
		return first - 1
	}
	return len(r.tokens) - 1
}

// layScores notes the rows of a chunk that gives the tokens from up to to of r, the last of them in the lane's last row.
func (l *lane) layScores(r *request, from, to int) {
	end := l.in.Len()
	for pos := max(from, r.unscored()-1); pos < min(to, len(r.sample.Prompt.Tokens)-1); pos++ {
		l.scores = append(l.scores, scored{r, int32(end - (to - pos)), r.tokens[pos+1]})
	}
}

// score appends to prompts' logprobs what the scored rows of streams x give, at temperature 1 and nothing added, in pieces.
func (l *lane) score(x *tensor.Tensor) {
	for rest := l.scores; len(rest) > 0; {
		piece := rest[:min(l.piece, len(rest))]
		m := l.ctx.Mem.Mark()
		l.scorePiece(x, piece)
		l.ctx.Mem.Release(m)
		rest = rest[len(piece):]
	}
}

func (l *lane) scorePiece(x *tensor.Tensor, piece []scored) {
	l.at, l.is, l.scale, l.wants = l.at[:0], l.is[:0], l.scale[:0], l.wants[:0]
	for _, s := range piece {
		l.at, l.is = append(l.at, s.row), append(l.is, s.token)
		l.scale, l.wants = append(l.scale, 1), append(l.wants, s.r)
	}
	logits := l.logits(x, l.at)
	lp := l.logProbs(logits, l.is)
	told := l.tell(logits)
	for i, s := range piece {
		s.r.sample.PromptLogProbs = append(s.r.sample.PromptLogProbs, lp[i])
		if s.r.tells() {
			s.r.sample.PromptTold = append(s.r.sample.PromptTold, told[i])
		}
	}
}

// logProbs returns the logprobs of next under rows of logits at the lane's scales, by the kernel that the trainer's come from.
func (l *lane) logProbs(logits *tensor.Tensor, next []int32) []float32 {
	lp, lse := l.ctx.New(len(next)), l.ctx.New(len(next))
	l.ctx.K.LogProb(lp, nil, lse, logits, next, l.scale)
	return lp.F32()
}

// tell returns what the lane's wants are told of rows of logits; nil when nobody wants anything.
func (l *lane) tell(logits *tensor.Tensor) []rl.Told {
	if !slices.ContainsFunc(l.wants, (*request).tells) {
		return nil
	}
	v, n := logits.Dim(), len(l.wants)
	values, best, told := logits.F32(), make([]int32, n), make([]rl.Told, n)
	row := func(i int) []float32 { return values[i*v:][:v] }
	l.draw.rows(n, v, func(_ *sample.Drawer, i int) { best[i], _ = sample.Likeliest(row(i)) }) // of a broken row nobody is told
	top := l.logProbs(logits, best)
	l.draw.rows(n, v, func(_ *sample.Drawer, i int) {
		if l.wants[i].tells() {
			d := distribution{row(i), l.scale[i], float32(row(i)[best[i]] * l.scale[i]), top[i]}
			told[i] = d.tell(l.wants[i].ask.Report)
		}
	})
	return told
}

// A distribution gives the logprobs of a row of logits as the kernel does: logit*scale, less the largest of these, less the log of the
// sum. For the largest itself that is the last alone.
type distribution struct {
	logits []float32
	scale  float32
	most   float32 // of logit*scale
	top    float32 // logprob of the likeliest token
}

func (d distribution) logProb(token int32) float32 {
	return float32(float32(d.logits[token]*d.scale)-d.most) + d.top
}

func (d distribution) tell(r rl.Report) (t rl.Told) {
	if r.Top > 0 {
		t.Top = d.likeliest(r.Top)
	}
	if len(r.Among) > 0 {
		t.Among = make([]float32, len(r.Among))
		for i, token := range r.Among {
			t.Among[i] = d.logProb(token)
		}
	}
	return t
}

// likeliest returns the k likeliest tokens, the likeliest first. It goes over the row once with a heap of those found so far, the
// worst on top: most tokens are worse than that one.
func (d distribution) likeliest(k int) []rl.Alternative {
	heap := make([]rl.Alternative, 0, k)
	for t, logit := range d.logits {
		lp := float32(float32(logit*d.scale)-d.most) + d.top
		if len(heap) < k {
			if heap = append(heap, rl.Alternative{Token: int32(t), LogProb: lp}); len(heap) == k {
				slices.SortFunc(heap, func(a, b rl.Alternative) int { return compare(b, a) }) // a sorted list is a heap
			}
		} else if lp > heap[0].LogProb { // of equal ones the earlier is better
			heap[0] = rl.Alternative{Token: int32(t), LogProb: lp}
			sink(heap)
		}
	}
	slices.SortFunc(heap, compare)
	return heap
}

// sink lets the first of a heap down to its place.
func sink(heap []rl.Alternative) {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
			if compare(heap[c], heap[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst], i = heap[worst], heap[i], worst
	}
}

// compare puts likelier tokens first, and smaller ones among equals.
func compare(a, b rl.Alternative) int {
	switch {
	case a.LogProb > b.LogProb:
		return -1
	case a.LogProb < b.LogProb:
		return 1
	}
	return int(a.Token) - int(b.Token)
}

// checkScores returns an error when one of the last n logprobs of the prompt is no number.
func (r *request) checkScores(n int) error {
	lps := r.sample.PromptLogProbs
	for i := len(lps) - n; i < len(lps); i++ {
		if lps[i] != lps[i] {
			return fmt.Errorf("%w: logprob of prompt token %d is %v", rl.ErrBroken, r.unscored()-len(lps)+i, lps[i])
		}
	}
	return nil
}

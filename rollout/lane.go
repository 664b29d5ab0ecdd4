package rollout

import (
	"errors"
	"fmt"
	"runtime/debug"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/split"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout/sample"
	"furlong/rollout/sched"
	"furlong/tensor"
)

// A lane computes the rows of some sequences in one pass, on a share of the backend and in memory of its own. Rows depend on nothing beside
// them, so it does not matter which lane computes which; lanes that run at the same time do not wait for each other after every kernel.
type lane struct {
	m    model.Model
	ctx  *ops.Ctx
	kv   *kv.Pass
	draw *drawers

	in    ops.Tokens
	seqs  []*kv.Sequence
	ends  []*request // whose next token is drawn
	rows  []int32    // of the tokens before it: [R]
	next  []int32    // [R]
	drawn []drawn    // [R]
	lp    []float32  // [R]
	told  []rl.Told  // [R]; nil when nobody asks
	wants []*request // to whom rows of logits belong
	scale []float32  // of these rows

	scores  []scored
	piece   int        // so many of them are scored at a time
	through []*request // whose prompts are computed, and nothing is drawn
	at, is  []int32    // rows of a piece of them, and the tokens that follow

	kept  kept
	bytes []byte // choices of the lane's tokens in a layer

	layer int // that runs now: -1 before the first block, their number after the last
}

// drawn is what came of drawing a token, besides the token.
type drawn struct {
	trunc float32 // logprob under the truncated distribution
	err   error
}

func newLane(m model.Model, k kernels.Backend, pages *kv.Pages, fp8 bool, keep kept, drawers int) *lane {
	l := &lane{
		m: m, ctx: ops.NewCtx(k, &tensor.Arena{}, dtype.F32), kv: pages.NewPass(k, fp8), draw: newDrawers(drawers),
		piece: max(1, pieceBytes/dtype.F32.Bytes(m.Vocab())), kept: keep,
	}
	if keep.routes != nil {
		l.ctx.Routed = l.route
	}
	if keep.entries != nil {
		l.ctx.Indexed = l.pick
	}
	return l
}

// begin empties the lane for another pass.
func (l *lane) begin() {
	l.in = ops.Tokens{ID: l.in.ID[:0], Seq: l.in.Seq[:0], Pos: l.in.Pos[:0]}
	l.seqs, l.ends, l.rows, l.layer = l.seqs[:0], l.ends[:0], l.rows[:0], -1
	l.scores, l.through = l.scores[:0], l.through[:0]
}

// lay adds a chunk of a request's tokens behind those that are there.
func (l *lane) lay(c sched.Chunk, r *request) {
	for pos := c.From; pos < c.To; pos++ {
		l.in.ID = append(l.in.ID, r.tokens[pos])
		l.in.Seq = append(l.in.Seq, int32(len(l.seqs)))
		l.in.Pos = append(l.in.Pos, int32(pos))
	}
	l.seqs = append(l.seqs, &r.seq)
	if r.ask.Report.Tail > 0 {
		l.layScores(r, c.From, c.To)
	}
	switch {
	case !c.Last:
	case r.draws():
		l.ends = append(l.ends, r)
		l.rows = append(l.rows, int32(l.in.Len()-1))
	default:
		l.through = append(l.through, r)
	}
}

// run runs the model over the lane's tokens, draws the next tokens, and sets their logprobs. Mathematics panics where there is a mistake, which
// comes out as an error that names the place.
func (l *lane) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v\n%s", l.place(), r, debug.Stack())
		}
	}()
	l.ctx.Mem.Reset()
	l.kv.Bind(l.seqs)
	x := model.Forward(l.ctx, l.m, &l.in, l.store, false) // [T, S, D]
	l.layer = len(l.m.Layers())
	if len(l.scores) > 0 {
		l.score(x)
	}
	if len(l.ends) > 0 {
		l.choose(l.logits(x, l.rows))
	}
	return nil
}

func (l *lane) store(layer int) kv.Store {
	l.layer = layer
	return l.kv.Store(layer)
}

// logits returns the logits of some rows of streams x: [R, V].
func (l *lane) logits(x *tensor.Tensor, rows []int32) *tensor.Tensor {
	t := x.Shape[0]
	y := ops.Gather(l.ctx, x.View(t, x.Len()/t), rows) // [R, S*D]
	shape := append([]int{len(rows)}, x.Shape[1:]...)
	return ops.Linear(l.ctx, l.m.Final(l.ctx, y.View(shape...)), l.m.Head())
}

// choose draws a token for each row and finds its logprob after temperature, over the whole vocabulary.
func (l *lane) choose(logits *tensor.Tensor) {
	v, n := logits.Dim(), len(l.ends)
	l.next, l.drawn = resize(l.next, n), resize(l.drawn, n)
	values := logits.F32()
	l.draw.rows(n, v, func(d *sample.Drawer, i int) {
		l.next[i], l.drawn[i] = l.ends[i].draw(d, values[i*v:][:v])
	})
	l.scale, l.wants = l.scale[:0], append(l.wants[:0], l.ends...)
	for _, r := range l.ends {
		l.scale = append(l.scale, r.scale)
	}
	l.lp = l.logProbs(logits, l.next)
	l.told = l.tell(logits)
}

// draw draws r's next token. Its logits are shaped first, if somebody wants that.
func (r *request) draw(d *sample.Drawer, logits []float32) (token int32, got drawn) {
	i := len(r.sample.Response)
	if r.shaper != nil {
		shape := func() { got.err = d.Shape(r.shaper, logits, i) }
		if err := guard(shape); err != nil {
			got.err = fmt.Errorf("constraint: %w", err)
		}
		if got.err != nil {
			return 0, got
		}
	}
	token, got.trunc, got.err = d.Draw(logits, r.ask.Sampling, i)
	return token, got
}

// place names what the lane is at.
func (l *lane) place() string {
	switch {
	case l.layer < 0:
		return "embedding"
	case l.layer == len(l.m.Layers()):
		return "head"
	}
	return fmt.Sprintf("layer %d", l.layer)
}

// lanes are the ways to compute a pass: all of the backend on it, or a share for each of several.
type lanes struct {
	whole *lane
	split []*lane // empty when the backend can't be split
	heavy bool    // weights don't fit a cache: lanes of few rows would each wait for all of them
	busy  []*lane // that have tokens of this pass
}

const (
	cacheBytes = 16 << 20 // weights up to it stay in a processor's cache from pass to pass
	manyRows   = 16       // as many in a lane keep its arithmetic busy while weights come from memory
	uneven     = 1.25     // how much more than an even share a lane may get
)

func newLanes(m model.Model, k kernels.Backend, pages *kv.Pages, fp8 bool, keep kept, threads int) *lanes {
	ls := &lanes{whole: newLane(m, k, pages, fp8, keep, threads)}
	if parts := k.Split(threads); len(parts) > 1 {
		for _, part := range parts {
			ls.split = append(ls.split, newLane(m, part, pages, fp8, keep, 1))
		}
	}
	bytes := 0
	for _, p := range m.Params() {
		if p.Product {
			bytes += len(p.Value.Mem)
		}
	}
	ls.heavy = bytes > cacheBytes
	return ls
}

// lay shares a plan's chunks out.
func (ls *lanes) lay(plan sched.Plan, flight map[int64]*request) {
	ls.busy = ls.busy[:0]
	chunks := append(append([]sched.Chunk(nil), plan.Decode...), plan.Prefill...)
	if len(chunks) == 0 {
		return
	}
	to := []*lane{ls.whole}
	if ls.even(chunks, plan.Len()) {
		to = ls.split
	}
	for i, part := range cut(chunks, len(to)) {
		to[i].begin()
		for _, c := range part {
			to[i].lay(c, flight[c.ID])
		}
		ls.busy = append(ls.busy, to[i])
	}
}

// even reports whether the chunks of n tokens are worth a lane each share and fall into shares of about one size.
func (ls *lanes) even(chunks []sched.Chunk, n int) bool {
	lanes := len(ls.split)
	if lanes == 0 || len(chunks) < lanes || ls.heavy && n < lanes*manyRows {
		return false
	}
	parts := cut(chunks, lanes)
	for _, part := range parts {
		if float64(effort(part)) > uneven*float64(effort(chunks))/float64(lanes) {
			return false
		}
	}
	return len(parts) == lanes
}

// cut cuts chunks into at most so many runs, none empty. A run ends with the chunk that reaches its share.
func cut(chunks []sched.Chunk, runs int) [][]sched.Chunk {
	var out [][]sched.Chunk
	lo, done, all := 0, 0, effort(chunks)
	for i := range chunks {
		done += effort(chunks[i : i+1])
		if share := (len(out) + 1) * all / runs; done >= share || i == len(chunks)-1 {
			out = append(out, chunks[lo:i+1])
			lo = i + 1
		}
	}
	return out
}

// effort is what chunks take, in tokens of long ones: a token that goes on by itself takes as long as two of a prompt, since it shares nothing and another one
// is drawn after it.
func effort(chunks []sched.Chunk) (n int) {
	for _, c := range chunks {
		n += c.To - c.From + 1
	}
	return n
}

// run computes the pass that was laid.
func (ls *lanes) run() error {
	errs := make([]error, len(ls.busy))
	split.Fork(ls.whole.ctx.K, len(ls.busy), func(i int) { errs[i] = ls.busy[i].run() })
	return errors.Join(errs...)
}

package dsv4

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/tensor"
)

// printed is a unit of the sixth decimal: half of it is rounding, the rest for angles that were rounded to float32 or not.
const printed = 1e-6

// A precision is what a pass runs in and how close it must come.
type precision struct {
	name   string
	k      kernels.Backend
	format dtype.Type

	close    float64 // of intermediates, logits and logprobs
	loss     float64
	gradient float64 // relative, of norms; ten times that for the scales of hyper-connections
}

// Float64 must give the digits that were printed. Float32 has the limits of the reference vectors: it runs its sums in another order
// than other engines do.
func precisions(t *testing.T) []precision {
	fast := cpu.New(0)
	t.Cleanup(fast.Close)
	return []precision{
		{"float64", ref.New[float64](), dtype.F64, printed, 5.01e-9, 5e-7},
		{"float32", ref.New[float32](), dtype.F32, 5e-5, 2e-6, 1e-4},
		{"cpu", fast, dtype.F32, 5e-5, 2e-6, 1e-4},
	}
}

// A watched backend keeps what no watch of the model sees: the collapse weights of each site and the indexer's scores.
type watched struct {
	kernels.Backend
	pre    [][]float64
	scores [][]float64 // of the last query, one list a call
}

func (w *watched) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	w.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
	w.pre = append(w.pre, slices.Clone(widened(pre)))
}

func (w *watched) IndexTopK(q, weights *tensor.Tensor, heads int, keys kernels.View, k int) kernels.View {
	t, di := q.Rows()-1, q.Dim()/heads
	query, weight, pool := widened(q)[t*q.Dim():], widened(weights)[t*heads:], widened(keys.Pool)
	var scores []float64
	for _, r := range keys.At(t) {
		sum := 0.0
		for h := range heads {
			d := 0.0
			for i, v := range query[h*di:][:di] {
				d += v * pool[int(r)*di+i]
			}
			sum += weight[h] * max(0, d)
		}
		scores = append(scores, sum/math.Sqrt(float64(heads*di)))
	}
	w.scores = append(w.scores, scores)
	return w.Backend.IndexTopK(q, weights, heads, keys, k)
}

// A pass is what one run of the golden model gave.
type pass struct {
	m       *Model
	values  map[string][]float64 // by "L3.mlp_out"
	choices map[string][]int32
	maps    *watched
	logits  []float64
	lps     []float64 // of each next token
}

// sequence returns ids as one sequence.
func sequence(ids []int32) *ops.Tokens {
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	return in
}

// runGolden runs the golden model forward and backward; gradients are those of the mean loss.
func runGolden(p precision) *pass {
	g := &pass{m: goldenModel(p.format), values: map[string][]float64{}, choices: map[string][]int32{}, maps: &watched{Backend: p.k}}
	c := ops.NewCtx(g.maps, &tensor.Arena{}, p.format).Taped()
	ready(c, g.m)
	c.Watch = func(layer int, name string, x *tensor.Tensor, choice []int32) {
		if name = fmt.Sprintf("L%d.%s", layer, name); x != nil {
			g.values[name] = slices.Clone(widened(x))
		} else {
			g.choices[name] = slices.Clone(choice)
		}
	}
	ids := goldenIDs()
	in, stores := sequence(ids), make([]kv.InPlace, len(golden.Layers))
	h := g.m.Final(c, model.Forward(c, g.m, in, func(i int) kv.Store { return &stores[i] }, false))
	g.logits = slices.Clone(widened(ops.Linear(c.Untaped(), h, g.m.Head())))
	lp := nextLogProbs(c, h, g.m, ids)
	g.lps = slices.Clone(widened(lp))
	fill(c.Grad(lp), func() float64 { return -1 / float64(len(ids)-1) })
	c.Unwind()
	return g
}

// ready prepares weights for products, and gives those that train a gradient.
func ready(c *ops.Ctx, m *Model) {
	model.Prepare(c, m)
	for _, p := range m.Params() {
		if !p.Frozen {
			p.Grad = tensor.New(c.Type, p.Value.Shape...)
		}
	}
}

// nextLogProbs returns the logprob of each token but the first, from final rows h of one sequence.
func nextLogProbs(c *ops.Ctx, h *tensor.Tensor, m *Model, ids []int32) *tensor.Tensor {
	rows, scale := make([]int32, len(ids)-1), make([]float32, len(ids)-1)
	for i := range rows {
		rows[i], scale[i] = int32(i), 1
	}
	lp, _ := ops.LogProb(c, ops.Gather(c, h, rows), m.Head(), ids[1:], scale)
	return lp
}

// widened returns the elements of an activation in float64.
func widened(x *tensor.Tensor) []float64 {
	if x.Type == dtype.F64 {
		return x.F64()
	}
	y := make([]float64, x.Len())
	for i, v := range x.F32() {
		y[i] = float64(v)
	}
	return y
}

func TestGolden(t *testing.T) {
	for _, p := range precisions(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			g := runGolden(p)
			t.Run("intermediates", func(t *testing.T) { g.checkValues(t, p.close) })
			t.Run("choices", g.checkChoices)
			t.Run("logits", func(t *testing.T) { g.checkLogits(t, p.close) })
			t.Run("loss", func(t *testing.T) { g.checkLoss(t, p) })
			t.Run("gradients", func(t *testing.T) { g.checkGradients(t, p.gradient) })
			t.Run("frozen", g.checkFrozen)
		})
	}
}

// near compares got, from its first element on, with what was printed.
func near(t *testing.T, name string, got, want []float64, limit float64) {
	t.Helper()
	for i, w := range want {
		if math.Abs(got[i]-w) > limit {
			t.Errorf("%s[%d] = %.7f, want %.6f within %.0e", name, i, got[i], w, limit)
		}
	}
}

func (g *pass) checkValues(t *testing.T, limit float64) {
	const at = 5 // the token looked at
	for _, tt := range []struct {
		name  string
		width int
		want  []float64
	}{
		{"L0.attn_hc.post", 4, []float64{.624111, .899798, 1.272315, 1.476378}},
		{"L0.attn_hc.comb", 16, []float64{
			.154809, .294765, .288391, .262034, .038975, .377227, .014855, .568942,
			.554625, .056752, .318873, .069749, .251590, .271255, .377881, .099273,
		}},
		{"L0.attn_hc.collapsed", 128, []float64{.357217, .104267, -.614781, 1.674824}},
		{"L0.attn_out", 128, []float64{.331363, -.709204, .152908, .678422}},
		{"L0.router_weights", 2, []float64{.813751, .686249}},
		{"L0.mlp_out", 128, []float64{3.687192, -.824532, -1.583102}},
		{"L1.router_weights", 2, []float64{.734304, .765696}},
		{"L2.attn_hc.post", 4, []float64{.616728, 1.321737, .542977, .173600}},
		{"L2.attn_hc.comb", 16, []float64{
			.059327, .053837, .417555, .469288, .059359, .323930, .284494, .332222,
			.042632, .497086, .266779, .193508, .838681, .125146, .031171, .004982,
		}},
		{"L2.attn_hc.collapsed", 128, []float64{11.511021, -6.274981, -4.545383, 10.953798}},
		{"L2.attn_out", 128, []float64{.073848, 1.440066, .790676, .261894}},
		{"L-1.hc_head", 128, []float64{5.079198, -8.943885, .177832, 9.487500}},
	} {
		if g.values[tt.name] == nil {
			t.Errorf("%s was not seen", tt.name)
			continue
		}
		near(t, tt.name, g.values[tt.name][at*tt.width:], tt.want, limit)
	}
	near(t, "L0.attn_hc.pre", g.maps.pre[0][at*4:], []float64{.820980, .132939, .369740, .744946}, limit)
	near(t, "L2.attn_hc.pre", g.maps.pre[4][at*4:], []float64{.714568, .792063, .702886, .617087}, limit)
	near(t, "L2 scores", g.maps.scores[0], []float64{.216349, .096424, -.140049, -.218893, -.012420, .150533, -1.445667, -.071872, .112029, .076645}, limit)
	near(t, "L4 scores", g.maps.scores[1], []float64{-.032239, -.225060, 1.051204, -.058762, .069913, -.036986, -.590793, .363849, .244335, .280716}, limit)
}

func (g *pass) checkChoices(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   int
		want []int32 // as a set
	}{
		{"L0.router_indices", 5, []int32{2, 4}},
		{"L1.router_indices", 5, []int32{2, 5}},
		{"L2.router_indices", 5, []int32{3, 6}},
		{"L3.router_indices", 5, []int32{5, 7}},
		{"L4.router_indices", 5, []int32{0, 6}},
		{"L5.router_indices", 5, []int32{4, 7}},
		{"L2.router_indices", 39, []int32{0, 5}},
		{"L3.router_indices", 39, []int32{2, 6}},
		{"L4.router_indices", 39, []int32{5, 7}},
		{"L5.router_indices", 39, []int32{0, 5}},
		{"L2.index_topk", 39, []int32{0, 1, 5, 8}},
		{"L4.index_topk", 39, []int32{2, 7, 8, 9}},
	} {
		got := slices.Clone(g.choices[tt.name][tt.at*len(tt.want):][:len(tt.want)])
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s at %d = %v, want %v", tt.name, tt.at, got, tt.want)
		}
	}
}

// goldenLogits are the first six logits of some tokens.
var goldenLogits = map[int][]float64{
	0:  {-1.055140, 1.791875, .352803, .459533, -2.539121, -1.042898},
	1:  {1.388684, -.432338, .199449, -.498759, -.868945, -3.079522},
	3:  {.645970, -1.629444, -.272212, 1.875537, 1.163679, -.658077},
	4:  {1.143614, -1.215348, -.021466, 1.076492, .645324, -.486980},
	15: {.020480, -1.828396, -1.918079, 1.382717, .865138, -2.662804},
	16: {-.256639, -2.076658, 1.044524, -1.651780, -.307543, .118248},
	17: {-.291927, .047687, 1.080504, .122999, .796491, -1.195213},
	31: {-3.408030, -1.149209, -1.152189, .774141, -.549312, -3.359287},
	39: {-2.034691, 2.484295, .431873, -.020721, 1.587990, .704806},
}

func (g *pass) checkLogits(t *testing.T, limit float64) {
	for at, want := range goldenLogits {
		near(t, fmt.Sprintf("logits at %d", at), g.logits[at*golden.Vocab:], want, limit)
	}
	for at, want := range []int{
		71, 71, 0, 60, 355, 487, 111, 413, 112, 230, 361, 97, 29, 225, 123, 397, 89, 282, 129, 104, 70, 229, 206, 92, 156, 307, 375,
		123, 479, 128, 249, 475, 290, 395, 186, 56, 17, 361, 47, 238,
	} {
		row := g.logits[at*golden.Vocab:][:golden.Vocab]
		if got := slices.Index(row, slices.Max(row)); got != want {
			t.Errorf("the largest logit at %d is number %d, want %d", at, got, want)
		}
	}
}

func (g *pass) checkLoss(t *testing.T, p precision) {
	near(t, "logprobs", g.lps, []float64{-5.744906, -6.003547, -6.760322, -8.340631, -5.147587, -5.679300, -5.963490, -6.625898}, p.close)
	loss := 0.0
	for _, lp := range g.lps {
		loss -= lp / float64(len(g.lps))
	}
	if want := 7.04856927; math.Abs(loss-want) > p.loss {
		t.Errorf("loss = %.9f, want %.8f within %.0e", loss, want, p.loss)
	}
}

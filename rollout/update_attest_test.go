package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// formats are how engines store weights.
var formats = []string{"f32", "bf16", "fp8", "fp8+fp4", "fp8-f32scales", "fp8+fp4-weights"}

// empty returns a model of zeros in a format.
func empty(t testing.TB, format string) *dsv4.Model {
	t.Helper()
	if format == "f32" {
		return dsv4.New(small(), dtype.F32)
	}
	m := dsv4.New(small(), dtype.BF16)
	r, err := quant.ParseRecipe(format)
	if err == nil {
		err = r.Apply(m.Params())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stored returns a policy in a format, ready to compute: what a cold load makes of it.
func stored(t testing.TB, format string, seed uint64, k kernels.Backend) *dsv4.Model {
	t.Helper()
	m, from := empty(t, format), policy(dtype.BF16, seed)
	if format == "f32" {
		from = policy(dtype.F32, seed)
	}
	for i, p := range m.Params() {
		if w := from.Params()[i].Value; p.Value.Quantised() {
			quant.Pack(p.Value, w)
		} else {
			copy(p.Value.Mem, w.Mem)
		}
	}
	model.Prepare(ops.NewCtx(k, &tensor.Arena{}, dtype.F32), m)
	return m
}

// ways are how a version gets from a sender to the engine.
var ways = map[string]func(t *testing.T, e *Engine, w rl.Weights) error{
	"process": func(t *testing.T, e *Engine, w rl.Weights) error { return e.Update(t.Context(), w) },
	"files": func(t *testing.T, e *Engine, w rl.Weights) error {
		path, err := weightsync.WriteDir(t.Context(), t.TempDir(), w)
		if err != nil {
			return err
		}
		if w, err = weightsync.OpenDir(path); err != nil {
			return err
		}
		return e.Update(t.Context(), w)
	},
	"unix": func(t *testing.T, e *Engine, w rl.Weights) error {
		return overSocket(t, "unix", filepath.Join(t.TempDir(), "s"), e, w)
	},
	"tcp": func(t *testing.T, e *Engine, w rl.Weights) error {
		return overSocket(t, "tcp", "127.0.0.1:0", e, w)
	},
}

// overSocket returns the sender's error.
func overSocket(t *testing.T, network, address string, e *Engine, w rl.Weights) error {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = errors.Join(weightsync.Receive(t.Context(), conn, e), conn.Close())
		}
		served <- err
	}()
	conn, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, sent := weightsync.Send(t.Context(), conn, w)
	received := <-served
	if (sent == nil) != (received == nil) {
		t.Errorf("sender says %v, receiver %v", sent, received)
	}
	if want := e.Attestation(); sent == nil && (a.Effective != want.Effective || a.Version != want.Version) {
		t.Errorf("the sender learns %+v, want %+v", a, want)
	}
	return errors.Join(sent, conn.Close())
}

// disorder is weights whose chunks come in an order of their own, some of them twice.
type disorder struct {
	rl.Weights
	r *rand.Rand
}

func (d disorder) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		var all []rl.Chunk
		for bucket, err := range d.Weights.Buckets(ctx) { // of memory that stays
			if err != nil {
				yield(nil, err)
				return
			}
			all = append(all, bucket...)
		}
		all = append(all, all[:len(all)/5]...)
		d.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for bucket := range slices.Chunk(all, 1+d.r.IntN(40)) {
			if !yield(bucket, nil) {
				return
			}
		}
	}
}

// A test of updates: an engine, and what its versions are when they are loaded cold.
type attestation struct {
	*rig
	t     *testing.T
	cold  map[rl.Version]*dsv4.Model
	want  map[rl.Version]weightsync.Sums
	truth oracle
}

// attest runs an engine in a format without weights, and makes three versions.
func attest(t *testing.T, format string, k kernels.Backend) *attestation {
	cold := map[rl.Version]*dsv4.Model{}
	want := map[rl.Version]weightsync.Sums{}
	judged := map[rl.Version]*dsv4.Model{} // prepared for the oracle's own backend
	for v := rl.Version(1); v <= 3; v++ {
		cold[v], judged[v] = stored(t, format, uint64(v), k), stored(t, format, uint64(v), ref.New[float32]())
		want[v] = weightsync.SumsOf(cold[v].Params())
	}
	return &attestation{beginOn(t, settings(), empty(t, format), k), t, cold, want, newOracle(judged)}
}

// weights returns a version, cut in buckets.
func (a *attestation) weights(v rl.Version, bucket int) rl.Weights {
	return weightsync.Of(v, weightsync.Flatten(a.cold[v].Params()), bucket)
}

// holds fails unless the engine serves exactly what a cold load of v gives.
func (a *attestation) holds(what string, v rl.Version) {
	a.t.Helper()
	got, err := a.Sums(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	if err := got.Diff(a.want[v]); err != nil {
		a.t.Errorf("%s: version %v is not a cold load's: %v", what, v, err)
	}
	at := a.Attestation()
	if at.Version != v || at.State != a.want[v].State() || at.Effective != a.want[v].Effective() || got.Effective() != at.Effective || !at.Cold || len(at.Canary) != canaryTokens {
		a.t.Errorf("%s: attested is %+v, want version %v, state %v, effective %v", what, at, v, a.want[v].State(), a.want[v].Effective())
	}
}

// answers fails unless what the engine says under v is, bit for bit, what a cold load of v computes.
func (a *attestation) answers(what string, v rl.Version) {
	a.t.Helper()
	for _, s := range a.all([]rl.Request{ask(1, []int32{5, 4, 3, 2, 1}, 20), ask(2, []int32{5, 4, 3, 9, 30, 2, 7, 7}, 12)}) {
		if err := a.truth.check(s); err != nil {
			a.t.Errorf("%s: %v", what, err)
		}
		if len(s.Versions) != 1 || s.Versions[0].Version != v {
			a.t.Errorf("%s: versions are %v, want %v", what, s.Versions, v)
		}
	}
}

// inPieces are the formats that also come in hundreds of files: each way of storing weights once.
var inPieces = []string{"bf16", "fp8", "fp8+fp4"}

// Whatever way an update takes, in whatever pieces and order, and whatever the engine held before, it then is what a cold load is.
func TestOnlineIsCold(t *testing.T) {
	fast := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(fast.Close)
	for _, format := range formats {
		for _, k := range []kernels.Backend{ref.New[float32](), fast} {
			t.Run(format+" "+k.Name(), func(t *testing.T) {
				a := attest(t, format, k)
				r := rand.New(rand.NewPCG(3, 1))
				v := rl.Version(1)
				for _, bucket := range []int{weightsync.OneTensor, 1 << 10, 1 << 20, weightsync.Everything} {
					for way, send := range ways {
						if way == "files" && bucket == 1<<10 && !slices.Contains(inPieces, format) {
							continue // hundreds of files
						}
						what := fmt.Sprintf("buckets of %d by %s", bucket, way)
						if r.IntN(2) > 0 {
							if err := a.Scramble(t.Context(), r.Uint64()); err != nil {
								t.Fatal(err)
							}
							what += " after noise"
						}
						v = v%3 + 1
						w := a.weights(v, bucket)
						if r.IntN(2) > 0 {
							w, what = disorder{w, r}, what+" in disorder"
						}
						if err := send(t, a.Engine, w); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						a.holds(what, v)
						if r.IntN(3) == 0 {
							a.answers(what, v)
						}
					}
				}
			})
		}
	}
}

// A version pushed three times, and one that comes back after another, are what they were, canary included.
func TestVersionsComeBack(t *testing.T) {
	for _, format := range formats {
		a := attest(t, format, ref.New[float32]())
		canaries := map[rl.Version]string{}
		for _, v := range []rl.Version{1, 1, 1, 2, 1, 3, 2, 1} {
			a.update(a.weights(v, 1<<14))
			a.holds(format, v)
			a.answers(format, v)
			canary := fmt.Sprint(a.Attestation().Canary)
			if canaries[v] == "" {
				canaries[v] = canary
			}
			if canaries[v] != canary {
				t.Errorf("%s: the canary of version %v is %s, then %s", format, v, canaries[v], canary)
			}
		}
		if canaries[1] == canaries[2] || canaries[2] == canaries[3] {
			t.Errorf("%s: different versions have one canary", format)
		}
	}
}

// The canary is the trainer's logprobs of its text.
func TestCanaryIsTheTrainers(t *testing.T) {
	a := attest(t, "bf16", ref.New[float32]())
	a.update(a.weights(2, weightsync.Everything))
	text := canaryText(small().Vocab)
	s := &rl.Sample{Prompt: &rl.Prompt{Tokens: text[:1]}, Response: text[1:], Sampling: rl.DefaultSampling()}
	want := a.truth.trace(s, 2)
	for i, lp := range a.Attestation().Canary {
		if w := a.truth.logProb(want.row(i), text[1+i], 1); !bits(lp, w) {
			t.Errorf("canary token %d has logprob %v, the trainer's is %v", i, lp, w)
		}
	}
}

// What happens to a version on its way is refused by name, in every format and on every way; the old version serves on, and it is counted.
func TestDamageIsRefused(t *testing.T) {
	const codes = "model.layers.2.mlp.experts.down_proj"
	const scale = codes + "_scale_inv"
	for _, format := range []string{"bf16", "fp8+fp4"} {
		a := attest(t, format, ref.New[float32]())
		a.update(a.weights(1, weightsync.Everything))
		for _, d := range []struct {
			name, tensor string
			edit         func(c *rl.Chunk) bool // reports whether the chunk still comes
			want         string
		}{
			{"a weight's byte", codes, func(c *rl.Chunk) bool { c.Data[3] ^= 1; return true }, codes + ": digest of bytes "},
			{"a scale's byte", scale, func(c *rl.Chunk) bool { c.Data[0] ^= 1; return true }, scale + ": digest of bytes "},
			{"a table's byte", "model.layers.0.mlp.gate.tid2eid", func(c *rl.Chunk) bool { c.Data[0] ^= 1; return true }, "model.layers.0.mlp.gate.tid2eid: digest of bytes "},
			{"codes tagged as bytes", codes, func(c *rl.Chunk) bool { c.Type = "U8"; return true }, codes + ": a chunk's format is U8, want "},
			{"half of a pair", scale, func(*rl.Chunk) bool { return false }, scale + " (0 of "},
			{"half of a fused pair", "model.layers.1.self_attn.kv_proj.weight", func(*rl.Chunk) bool { return false }, "model.layers.1.self_attn.kv_proj.weight (0 of "},
			{"a lost buffer", "model.layers.3.mlp.gate.e_score_correction_bias", func(*rl.Chunk) bool { return false }, "e_score_correction_bias (0 of "},
		} {
			if format == "bf16" && d.tensor == scale {
				continue
			}
			for way, send := range ways {
				what := fmt.Sprintf("%s: %s by %s", format, d.name, way)
				before := a.Stats()
				err := send(t, a.Engine, damaged{a.weights(2, weightsync.Everything), d.tensor, d.edit})
				if err == nil || !strings.Contains(err.Error(), d.want) {
					t.Errorf("%s: error is %v, want one with %q", what, err, d.want)
				}
				a.holds(what, 1)
				if s := a.Stats(); s.Refused != before.Refused+1 || s.Updates != before.Updates || s.Version != 1 {
					t.Errorf("%s: refused %d, taken %d, version %v", what, s.Refused-before.Refused, s.Updates-before.Updates, s.Version)
				}
			}
			a.answers(d.name, 1)
		}
	}
}

// damaged is weights of which the chunks of one tensor were changed.
type damaged struct {
	rl.Weights
	name string
	edit func(*rl.Chunk) bool
}

func (d damaged) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		for bucket, err := range d.Weights.Buckets(ctx) {
			for i := 0; i < len(bucket); i++ {
				c := &bucket[i]
				if c.Data = slices.Clone(c.Data); c.Name == d.name && !d.edit(c) {
					bucket = slices.Delete(bucket, i, i+1)
				}
			}
			if !yield(bucket, err) {
				return
			}
		}
	}
}

// A delta gives what a whole version gives, on the engine too; one on another base is refused.
func TestDeltaUpdates(t *testing.T) {
	for _, format := range []string{"bf16", "fp8+fp4"} {
		a := attest(t, format, ref.New[float32]())
		delta := func(v, base rl.Version) rl.Weights {
			kept := weightsync.Keep(base, weightsync.Flatten(a.cold[base].Params()))
			w, err := weightsync.Delta(v, weightsync.Flatten(a.cold[v].Params()), kept, 1<<12)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		if err := a.Update(t.Context(), delta(2, 1)); err == nil || !strings.Contains(err.Error(), "but version 0 (") {
			t.Errorf("a delta without a base: %v", err)
		}
		a.update(a.weights(1, weightsync.Everything))
		a.update(delta(2, 1))
		a.holds(format, 2)
		if err := a.Update(t.Context(), delta(2, 1)); err == nil || !strings.Contains(err.Error(), "delta: it builds on version 1 (") {
			t.Errorf("a delta on what was held before: %v", err)
		}
		a.update(delta(3, 2))
		a.holds(format, 3)
		a.answers(format, 3)
		if err := a.Scramble(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := a.Update(t.Context(), delta(1, 3)); err == nil {
			t.Error("a delta on noise was taken up")
		}
	}
}

// A manifest that is damaged or cut short on its way is refused before the engine sees it; the engine counts it all the same.
func TestDamagedManifestIsCounted(t *testing.T) {
	a := attest(t, "fp8+fp4", ref.New[float32]())
	a.update(a.weights(1, weightsync.Everything))
	manifest, err := a.weights(2, weightsync.Everything).Manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		came := bytes.Clone(manifest)
		at := i * len(came) / 20
		if came[at] ^= 1; i%2 > 0 {
			came = came[:at]
		}
		conn := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(came), io.Discard}
		if err := weightsync.Receive(t.Context(), conn, a.Engine); err == nil || !strings.HasPrefix(err.Error(), "manifest: ") {
			t.Errorf("%d bytes, one flipped at %d: error is %v, want one of the manifest", len(came), at, err)
		}
		if got := a.Stats().Refused; got != i+1 {
			t.Errorf("%d updates are counted as refused, want %d", got, i+1)
		}
	}
	a.holds("after damaged manifests", 1)
}

// Checkpoint, trainer and engine have one digest for one policy.
func TestOneDigest(t *testing.T) {
	m := policy(dtype.BF16, 4)
	dir := filepath.Join(t.TempDir(), "model")
	if err := hf.Save(dir, m.Params(), hf.Ref, []byte("{}"), hf.SaveOptions{Experts: small().Experts}); err != nil {
		t.Fatal(err)
	}
	loaded := dsv4.New(small(), dtype.BF16)
	if _, err := hf.Load(dir, loaded.Params(), hf.LoadOptions{Layers: len(small().Layers), Experts: small().Experts}); err != nil {
		t.Fatal(err)
	}
	e := begin(t, settings(), dtype.BF16, ref.New[float32]())
	e.update(snapshot{version: 1, m: m})
	trainer, file := weightsync.SumsOf(m.Params()), weightsync.SumsOf(loaded.Params())
	if err := e.Compare(t.Context(), trainer); err != nil {
		t.Error(err)
	}
	if err := e.Compare(t.Context(), file); err != nil {
		t.Error(err)
	}
	if s := e.Attestation().State; s != trainer.State() || s != file.State() {
		t.Errorf("states are %v, %v and %v, want one", s, trainer.State(), file.State())
	}
}

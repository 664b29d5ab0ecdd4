package dashgen

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"furlong/eval"
	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// held is the name of the held-out set.
const held = "aime-2024"

const (
	problems = 30
	answers  = 8
	layers   = 4
	experts  = 16
	choices  = 2 // experts of a token in each layer
)

func when(unix float64) string {
	return time.UnixMicro(int64(unix * 1e6)).UTC().Format(time.RFC3339Nano)
}

// skill is how likely a problem of the held-out set is solved: it rises, and falls from four fifths of the run on while reward goes on rising.
func (m *maker) skill(problem, c int) float64 {
	base := rand.New(rand.NewPCG(uint64(problem), 7)).Float64()
	at := float64(c) / float64(max(m.o.Cycles, 1))
	rise := 0.15 * min(at, 0.8)
	if at > 0.8 && !m.o.Plain {
		rise -= 1.2 * (at - 0.8)
	}
	return min(max(0.15+0.5*base+rise, 0.01), 0.99)
}

// eval writes an evaluation: its problems, its row, and, where tokens are kept, its samples.
func (m *maker) eval(c int) error {
	e := run.Evaluation{Kind: "eval", Name: held, Cycle: c, Attempt: m.attempt, Version: rl.NewVersion(m.attempt-1, c+1), Time: m.clock, Settings: map[string]any{"temperature": 1, "n": answers, "seed": 1}}
	var all []eval.Problem
	var batch []samples.Sample
	bodied := m.bodied(c)
	for i := range problems {
		p := run.Problem{ID: fmt.Sprintf("%s-%d", held, i+1), N: answers, Group: int64(i)}
		if m.plants(c) && c == hostileAt && i < len(hostile) {
			p.ID += hostile[i]
		}
		for slot := range answers {
			a := run.Answer{Slot: slot, Verdict: rl.Wrong.String(), Length: 1 + m.rng.IntN(2*m.o.Tokens), Truncated: m.rng.Float64() < 0.2}
			if m.rng.Float64() < m.skill(i, c) {
				a.Verdict, a.Reward = rl.Right.String(), 1
				p.C++
			}
			if a.Truncated {
				p.Truncated++
			}
			p.Samples = append(p.Samples, a)
			if bodied {
				batch = append(batch, samples.Sample{Sample: m.answer(c, p, a)})
			}
		}
		e.Problems = append(e.Problems, p)
		all = append(all, eval.Problem{ID: p.ID, N: p.N, C: p.C, Truncated: p.Truncated})
	}
	if bodied {
		w := m.samples
		m.files.jobs <- func() error { return w.Add(samples.Batch{Cycle: c, Eval: held, Samples: batch}) }
	}
	m.files.jobs <- func() error { return m.evalFile(e) }
	return m.evalRow(c, all)
}

// answer is a sample of an evaluation.
func (m *maker) answer(c int, p run.Problem, a run.Answer) *rl.Sample {
	r := &samples.Row{Cycle: uint32(c), Group: uint32(p.Group), Slot: uint16(a.Slot), ResponseLen: uint32(a.Length), Version: rl.NewVersion(m.attempt-1, c+1), Verdict: rl.Wrong, Reward: float32(a.Reward), Entropy: 0.5}
	if a.Reward == 1 {
		r.Verdict = rl.Right
	}
	if a.Truncated {
		r.Flags = samples.Truncated
	}
	return m.sample(c, r, &rl.Prompt{ID: p.ID, Group: p.Group, Tokens: []int32{1, 2, 3}, Text: spell([]int32{1, 2, 3}), Label: "7", Set: held})
}

func (m *maker) evalRow(c int, all []eval.Problem) error {
	v := map[string]float64{"eval/step": float64(c)}
	right, cut := 0, 0
	for _, p := range all {
		right += p.C
		cut += p.Truncated
	}
	v["eval/"+held] = float64(right) / (problems * answers)
	v["eval/"+held+"-truncated_ratio"] = float64(cut) / (problems * answers)
	ks := [...]int{1, 2, 4, 8}
	var intervals [len(ks)]eval.Interval
	var errs [len(ks)]error
	var wait sync.WaitGroup
	for i, k := range ks { // most of the time that rows take
		wait.Go(func() { intervals[i], errs[i] = eval.PassAt(all, k, uint64(c)) })
	}
	wait.Wait()
	for i, k := range ks {
		key := fmt.Sprintf("eval/%s-pass@%d", held, k)
		v[key], v[key+"_lo"], v[key+"_hi"] = intervals[i].Value, intervals[i].Low, intervals[i].High
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return m.line(metrics.Eval, c, m.attempt, m.clock, v)
}

func (m *maker) evalFile(e run.Evaluation) error {
	file, err := os.Create(filepath.Join(m.dir, run.EvalFile(held, e.Cycle)))
	if err != nil {
		return err
	}
	f := newLines(file)
	err = writeLine(f, e)
	for _, p := range e.Problems {
		if err == nil {
			err = writeLine(f, p)
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// experts writes the loads of a cycle.
func (m *maker) experts(c int) error {
	b := []byte("FURLEXP1")
	for _, v := range []uint32{uint32(c), uint32(m.attempt), uint32(rl.NewVersion(m.attempt-1, c)), 1, layers, experts} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for l := range layers {
		for x := range experts {
			n := uint32(100 + m.rng.IntN(60))
			if l == 2 && x == 5 && m.in(c, deadFrom, deadTo) {
				n = 0
			}
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	for range layers {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(0.97+0.02*m.rng.Float64())))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	m.files.jobs <- func() error { return os.WriteFile(filepath.Join(m.dir, run.ExpertsFile(c)), b, 0o644) }
	return nil
}

// settings writes config.json.
func (m *maker) settings() error {
	s := map[string]run.Setting{
		"num-rollout": {Value: m.o.Cycles, Origin: "flag"}, "rollout-batch-size": {Value: m.o.Groups, Origin: "recipe dashgen"}, "n-samples-per-prompt": {Value: m.o.N, Origin: "recipe dashgen"},
		"lr": {Value: 1e-6, Origin: "default"}, "eps-clip": {Value: 0.2, Origin: "default"}, "rollout-temperature": {Value: 1.0, Origin: "default"}, "rollout-max-response-len": {Value: 16 * m.o.Tokens, Origin: "recipe dashgen"},
		"advantage-estimator": {Value: "grpo", Origin: "recipe dashgen"}, "prompt-data": {Value: "problems.jsonl", Origin: "flag"}, "rollout-seed": {Value: m.o.Seed, Origin: "flag"},
		"run-dir": {Value: filepath.Base(m.dir), Origin: "flag"}, "rm-api-key": {Origin: "file", Secret: true}, "build": {Value: "dashgen", Origin: "build"},
	}
	if !m.o.Plain {
		s["chat-template-kwargs"] = run.Setting{Value: hostile[0] + hostile[1], Origin: "flag"}
	}
	if m.o.Pair {
		s["lr"], s["eps-clip"] = run.Setting{Value: 2e-6, Origin: "flag"}, run.Setting{Value: 0.28, Origin: "flag"}
		s["rollout-temperature"], s["advantage-estimator"] = run.Setting{Value: 0.8, Origin: "flag"}, run.Setting{Value: "reinforce_plus_plus", Origin: "flag"}
		s["rollout-seed"] = run.Setting{Value: m.o.Seed + 1, Origin: "flag"}
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.dir, run.ConfigFile), append(b, '\n'), 0o644)
}

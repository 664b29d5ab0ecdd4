package dashgen

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// sum works out what the row says of the samples.
func (d *drawn) sum(m *maker) {
	n := float64(len(d.rows))
	var gaps []float64
	for i := range d.rows {
		r := &d.rows[i]
		d.reward += float64(r.Reward)
		d.cut += float64(r.Flags & samples.Truncated)
		d.tokens += int(r.ResponseLen)
		if r.Verdict == rl.Invalid {
			d.bad++
		}
		if d.batch == nil {
			d.gap += float64(r.GapMean) * float64(r.ResponseLen)
			d.max = max(d.max, float64(r.GapMax))
			continue
		}
		s := d.batch[i].Sample
		for t := range s.Response {
			gaps = append(gaps, math.Abs(float64(s.TrainLogProbs[t])-float64(s.LogProbs[t])))
		}
	}
	d.reward /= n
	d.cut /= n
	if d.batch == nil {
		d.gap /= float64(d.tokens)
		d.p99 = 4.8 * d.gap
		return
	}
	slices.Sort(gaps)
	for _, g := range gaps {
		d.gap += g / float64(len(gaps))
	}
	d.p99, d.max = gaps[len(gaps)*99/100], gaps[len(gaps)-1]
}

// phases are the seconds of a cycle's parts, which add up to it.
type phases struct{ rollout, reward, train, update, eval, save, other float64 }

func (p phases) sum() float64 {
	return p.rollout + p.reward + p.train + p.update + p.eval + p.save + p.other
}

func (m *maker) phases(c int) phases {
	noisy := func(v float64) float64 { return math.Round(v*math.Exp(0.05*m.rng.NormFloat64())*1e6) / 1e6 }
	p := phases{rollout: noisy(21), reward: noisy(1.2), train: noisy(11.3), update: noisy(2.7), other: noisy(2 + 2*m.rng.Float64())}
	if c%10 == 0 {
		p.eval = noisy(14)
	}
	return p
}

// cycle draws and writes one cycle.
func (m *maker) cycle(c int) error {
	d, p := m.draw(c), m.phases(c)
	m.tokens += d.tokens
	m.step++
	values := m.values(c, d, p)
	if c == unequalAt && m.plants(c) {
		was := maps.Clone(values)
		was["rollout/raw_reward"] = d.reward + 0.125
		m.plant("unequal", map[string]any{"cycle": c, "key": "rollout/raw_reward", "was": d.reward + 0.125, "is": d.reward})
		if err := m.row(c, 1, m.clock+p.sum(), was); err != nil {
			return err
		}
	}
	if c > crashAt-3 && c <= crashAt {
		b, err := json.Marshal(keptCycle{m.step, values, d.rows})
		if err != nil {
			return err
		}
		m.before[c] = b
	}
	if err := m.add(c, d); err != nil {
		return err
	}
	if err := m.spansOf(c, p); err != nil {
		return err
	}
	m.clock += p.sum()
	if err := m.experts(c); err != nil {
		return err
	}
	if err := m.row(c, m.attempt, m.clock, values); err != nil {
		return err
	}
	if err := m.say("INFO", "cycle", map[string]any{"cycle": c, "reward": d.reward}); err != nil {
		return err
	}
	if c == hostileAt && m.plants(c) {
		for _, h := range hostile {
			if err := m.say("WARN", h, map[string]any{h: h}); err != nil {
				return err
			}
		}
	}
	if err := m.alarmsOf(c); err != nil {
		return err
	}
	if c%10 == 0 {
		return m.eval(c)
	}
	return nil
}

// A keptCycle is what is needed to write a cycle again.
type keptCycle struct {
	Step   int
	Values map[string]float64
	Rows   []samples.Row
}

// repeat writes a cycle again, with equal values.
func (m *maker) repeat(c int) error {
	var k keptCycle
	if err := json.Unmarshal(m.before[c], &k); err != nil {
		return err
	}
	w := m.samples
	m.files.jobs <- func() error { return w.AddRows(c, sets, k.Rows) }
	m.step = k.Step
	return m.row(c, m.attempt, m.clock, k.Values)
}

// add writes the samples, with or without their tokens.
func (m *maker) add(c int, d *drawn) error {
	w := m.samples
	m.files.jobs <- func() error {
		if d.batch != nil {
			return w.Add(samples.Batch{Cycle: c, Samples: d.batch})
		}
		return w.AddRows(c, sets, d.rows)
	}
	return nil
}

// values are the series of a cycle.
func (m *maker) values(c int, d *drawn, p phases) map[string]float64 {
	n := float64(len(d.rows))
	grad := 0.6 * math.Exp(0.3*m.rng.NormFloat64())
	v := map[string]float64{
		"rollout/raw_reward": d.reward, "rollout/rewards": 0, "rollout/truncated": d.cut, "rollout/truncated_ratio": d.cut, "rollout/samples": n, "rollout/tokens": float64(d.tokens),
		"rollout/response_len/mean": float64(d.tokens) / n, "rollout/entropy": m.entropy(c) * math.Exp(0.02*m.rng.NormFloat64()),
		"rollout/zero_std/ratio": float64(d.zero) / float64(m.o.Groups), "rollout/repetition_frac": 0.004 * m.rng.Float64(), "rollout/garbled_frac": 0,
		"rollout/staleness/mean": 1, "rollout/staleness/max": 1,
		"reward/invalid": float64(d.bad) / n, "reward/invalid_samples": float64(d.bad),
		"train/step": float64(m.step), "train/loss": -0.002 + 0.001*m.rng.NormFloat64(), "train/grad_norm": grad, "train/pg_clipfrac": 0.01 * m.rng.Float64(), "train/kl_loss": 0.02 * m.rng.Float64(),
		"train/tokens": float64(d.tokens), "train/tokens_total": float64(m.tokens), "train/samples": n - float64(d.bad), "train/nonfinite_tokens": 0, "train/skipped_steps": 0,
		"train/logp_diff/mean": d.gap, "train/logp_diff/p99": d.p99, "train/logp_diff/max": d.max,
		"update/version": float64(c + 1), "update/attested": 1, "update/retries": 0, "update/refused": 0,
		"perf/step_time": p.sum(), "perf/train_time": p.train, "perf/update_weights_time": p.update, "perf/eval_time": p.eval, "perf/save_model_time": p.save,
		"perf/rollout_wait_time": p.rollout, "perf/reward_wait_time": p.reward, "perf/other_time": p.other, "perf/rollout_time": p.rollout,
		"perf/tokens_per_gpu_per_sec": float64(d.tokens) / p.rollout, "perf/actor_train_tok_per_s": float64(d.tokens) / p.train,
		"moe/load_cv": 0.3 + 0.02*m.rng.NormFloat64(), "moe/dead_experts": 0, "moe/router_entropy": 2.1 + 0.01*m.rng.NormFloat64(),
	}
	if m.rng.Float64() < 0.06 {
		v["rollout/staleness/max"] = 2
	}
	for i, name := range m.names {
		v[name] = math.Sin(float64(c)/(50+float64(i))) + 0.05*m.rng.NormFloat64()
	}
	m.faults(c, v)
	return v
}

// faults plants what a row alone shows.
func (m *maker) faults(c int, v map[string]float64) {
	if !m.plants(c) {
		return
	}
	switch {
	case c == nanAt:
		v["train/loss"], v["train/grad_norm"], v["train/skipped_steps"], v["train/nonfinite_tokens"] = math.NaN(), math.Inf(1), 1, 3
		m.plant("nan", c)
	case c == unattestedAt:
		v["update/attested"] = 0
		m.plant("unattested", c)
	case c == noP99At:
		delete(v, "train/logp_diff/p99")
		m.plant("no_p99", c)
	case m.in(c, deadFrom, deadTo):
		v["moe/dead_experts"] = 1
	case c == hostileAt:
		v["moe/<b>load</b>"] = 1
		v["moe/"+longKey()] = 2
		m.plant("hostile", c)
	}
}

func longKey() string {
	b := make([]byte, longKeyLen-4)
	for i := range b {
		b[i] = 'k'
	}
	return string(b)
}

// furtherNames names series enough to make rows as long as those of real runs.
func furtherNames(total int) []string {
	n := 112
	if total > 0 {
		n = max(0, total-38)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("train/grad_norm/block_%05d", i)
	}
	return names
}

// row writes a line of metrics.jsonl.
func (m *maker) row(c, attempt int, at float64, values map[string]float64) error {
	return m.line(metrics.Cycle, c, attempt, at, values)
}

func (m *maker) line(kind metrics.Kind, c, attempt int, at float64, values map[string]float64) error {
	b := fmt.Appendf(nil, `{"kind":%q,"cycle":%d,"step":%d,"version":%d,"attempt":%d,"time":%s`, kind, c, m.step, rl.NewVersion(attempt-1, c+1), attempt, decimal(math.Round(at*1e6)/1e6))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b = append(append(b, ','), key...)
		b = append(append(b, ':'), decimal(values[name])...)
	}
	_, err := m.rows.Write(append(b, "}\n"...))
	return err
}

// decimal writes a number as rows have it.
func decimal(v float64) string {
	switch {
	case math.IsNaN(v):
		return `"NaN"`
	case math.IsInf(v, 0):
		return fmt.Sprintf("%q", map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0])
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return fmt.Sprintf("%e", v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func writeLine(f io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return err
}

// spansOf writes who did what when.
func (m *maker) spansOf(c int, p phases) error {
	f := m.spans[c/1000]
	if f == nil {
		file, err := os.OpenFile(m.dir+"/"+run.SpansFile(c), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		f = newLines(file)
		m.spans[c/1000] = f
	}
	at := m.clock
	for _, s := range []struct {
		lane, name, waits string
		took              float64
		beside            bool // the clock does not go on
	}{
		{"trainer", "wait", "rollout", p.rollout, true},
		{"engine", "generate", "", p.rollout, false},
		{"graders", "grade", "", p.reward, false},
		{"trainer", "train", "", p.train, false},
		{"update", "push", "", p.update, false},
		{"eval", "eval", "", p.eval, false},
		{"driver", "other", "", p.other, false},
	} {
		if s.took == 0 {
			continue
		}
		if err := writeLine(f, run.Span{Cycle: c, Attempt: m.attempt, Lane: s.lane, Name: s.name, T0: at, T1: at + s.took, WaitsFor: s.waits, Version: rl.NewVersion(m.attempt-1, c)}); err != nil {
			return err
		}
		if !s.beside {
			at += s.took
		}
	}
	return nil
}

// say writes a line of the log.
func (m *maker) say(level, msg string, attrs map[string]any) error {
	all := map[string]any{"time": when(m.clock), "level": level, "msg": msg, "attempt": m.attempt}
	maps.Copy(all, attrs)
	return writeLine(m.log, all)
}

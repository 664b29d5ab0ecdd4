package loss

import "math"

// Mismatch returns how trainer and rollout engine differ over a whole step, and what a mis correction does about it, or would do where it is
// only measured. It reads Old, Rollout and Weight; the names are those of train/mis_{name} in the table of metrics, which says
// what each is. Samples without rollout logprobs don't take part; without any there is nothing to say.
func (c Config) Mismatch(batch []Tokens) map[string]float64 {
	var compared []Tokens
	for _, t := range batch {
		if t.Rollout != nil && len(t.Old) > 0 {
			compared = append(compared, t)
		}
	}
	out := map[string]float64{}
	if len(compared) == 0 {
		return out
	}
	differences(out, compared)
	if c.Method() == "mis" || c.Measure {
		c.MIS.rule().figures(out, compared)
	}
	return out
}

// differences writes the figures that depend on no correction: those of tokens weighed as the loss weighs them, those of samples all alike.
func differences(out tally, batch []Tokens) {
	for k := range batch {
		t := &batch[k]
		train, roll := 0.0, 0.0
		for i := range t.Old {
			d, r := t.logRatio(i), t.raw(i)
			train += float64(t.Old[i])
			roll += float64(t.Rollout[i])
			out["kl"] -= t.Weight * d
			out["k3_kl"] += t.Weight * (math.Expm1(clamp(d, -ratioBound, ratioBound)) - d)
			out["chi2_token"] += t.Weight * r * r
		}
		n := float64(len(t.Old))
		out.sample(train/n, roll/n, t.whole(Sequence), 1/float64(len(batch)))
	}
	weight := total(batch)
	out["kl"] /= weight
	out["k3_kl"] /= weight
	out["chi2_token"] = out["chi2_token"]/weight - 1
}

// figures writes what the rule makes of the batch. Means are over all tokens, the rejected ones too.
func (r rule) figures(out tally, batch []Tokens) {
	mine, mean := tally{}, 1.0
	least, most := math.Inf(1), math.Inf(-1)
	if r.normalize {
		mean = r.mean(batch)
		out["batch_norm_factor"] = mean
	}
	vetoed := 0
	for k := range batch {
		j := r.judge(&batch[k])
		for i := range j.t.Old {
			raw := j.t.raw(i)
			w := j.token(raw)
			mine.token(&j, raw, w)
			if w.used != 0 {
				least, most = min(least, w.used/mean), max(most, w.used/mean)
			}
		}
		if j.vetoed {
			vetoed++
		}
	}
	weight := total(batch)
	for name, sum := range mine {
		out[name] = sum / weight
	}
	out["is_ratio_mean_final"] = out["is_ratio_mean_after_tis_rs"] / mean
	if least <= most { // something was kept, and every weight is a number
		out["is_ratio_min_final"], out["is_ratio_max_final"] = least, most
	}
	if r.reject && r.veto > 0 {
		out["rs_catastrophic_seq_fraction"] = float64(vetoed) / float64(len(batch))
	}
}

// total returns the weight of all tokens.
func total(batch []Tokens) float64 {
	sum := 0.0
	for _, t := range batch {
		sum += t.Weight * float64(len(t.Old))
	}
	return sum
}

// A tally is sums by name.
type tally map[string]float64

// share adds weight where something is so, and makes sure that the name is there.
func (m tally) share(name string, weight float64, is bool) {
	if !is {
		weight = 0
	}
	m[name] += weight
}

// sample adds one sample's part of the means over samples: train and roll are its mean logprobs, product that of its tokens' ratios.
func (m tally) sample(train, roll, product, part float64) {
	m["training_log_ppl"] -= part * train
	m["training_ppl"] += part * math.Exp(-train)
	m["rollout_log_ppl"] -= part * roll
	m["rollout_ppl"] += part * math.Exp(-roll)
	m["log_ppl_diff"] += part * (roll - train)
	m["log_ppl_abs_diff"] += part * math.Abs(roll-train)
	m["ppl_ratio"] += part * math.Exp(roll-train)
	m["chi2_seq"] += part * (product*product - 1)
}

// token adds what became of one token, whose own ratio is raw.
func (m tally) token(j *judged, raw float64, w weighing) {
	weight := j.t.Weight
	m["tis_weight_before_bound"] += weight * w.before
	m["tis_weight_after_bound"] += weight * w.bounded
	switch j.mode {
	case truncate:
		m.share("tis_truncate_fraction", weight, w.before > j.high)
	case clip, mask:
		m.share("tis_"+j.mode+"_fraction_low", weight, w.before < j.low)
		m.share("tis_"+j.mode+"_fraction_high", weight, w.before > j.high)
	}
	if j.reject {
		m.share("rs_mask_fraction_low", weight, w.rs < j.rsLow)
		m.share("rs_mask_fraction_high", weight, w.rs > j.rsHigh)
		if j.veto > 0 {
			m.share("rs_catastrophic_token_fraction", weight, raw < j.veto)
		}
	}
	m["is_ratio_mean_after_tis_rs"] += weight * w.used
	m.share("rejected_fraction", weight, w.used == 0)
}

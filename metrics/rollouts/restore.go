package rollouts

import (
	"fmt"

	"furlong/rl"
)

// restore puts the sample together, which was checked.
func (f *flat) restore() *rl.Sample {
	s := f.s
	for i, t := range f.biasToken {
		s.Sampling.Bias = append(s.Sampling.Bias, rl.Bias{Token: t, Add: f.biasAdd[i]})
	}
	for _, m := range f.mask {
		s.LossMask = append(s.LossMask, m == 1)
	}
	for i, v := range f.version {
		s.Versions = append(s.Versions, rl.Span{Version: rl.Version(v), Tokens: int(f.versionTokens[i])})
	}
	if n := len(s.Response); len(s.Versions) == 0 && n > 0 {
		s.Versions = []rl.Span{{Tokens: n}} // nobody said
	}
	s.Experts, s.TrainExperts = present(f.experts), present(f.trained)
	s.Entries = f.restoreEntries()
	s.Told, s.PromptTold = f.told.restore(), f.promptTold.restore()
	return s
}

// present returns nil for the zero Routes.
func present(r rl.Routes) *rl.Routes {
	if r.Layers == 0 {
		return nil
	}
	return &r
}

func (f *flat) restoreEntries() *rl.Entries {
	e := f.entries
	if e.Rate == 0 {
		return nil
	}
	rows := f.entryRows
	for i, l := range f.entryLayers {
		n := f.entryBytes[i]
		e.Layers, e.Rows = append(e.Layers, int(l)), append(e.Rows, rows[:n:n])
		rows = rows[n:]
	}
	return &e
}

func (t *told) restore() []rl.Told {
	all := make([]rl.Told, 0, len(t.tops))
	tops, among := 0, t.among
	for i, n := range t.tops {
		var at rl.Told
		for ; n > 0; n-- {
			at.Top = append(at.Top, rl.Alternative{Token: t.topToken[tops], LogProb: t.topLogProb[tops]})
			tops++
		}
		if n := t.amongs[i]; n > 0 {
			at.Among, among = among[:n:n], among[n:]
		}
		all = append(all, at)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// distinct reports two samples of one place, or groups that are torn apart.
func distinct(all []*rl.Sample) error {
	type place struct {
		group int64
		index int
	}
	seen, ended := map[place]bool{}, map[int64]bool{}
	for i, s := range all {
		at := place{s.Prompt.Group, s.Index}
		if seen[at] {
			return fmt.Errorf("sample %d: group %d has two samples of index %d", i, at.group, at.index)
		}
		if i > 0 && all[i-1].Prompt.Group != at.group {
			ended[all[i-1].Prompt.Group] = true
		}
		if ended[at.group] {
			return fmt.Errorf("sample %d: group %d goes on after others, want its samples one after the other", i, at.group)
		}
		seen[at] = true
	}
	return nil
}

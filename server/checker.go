package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"furlong/api/sglang"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/tensor"
	"furlong/weightsync"
)

// checkWeights answers questions by which callers find out whether updates arrive: digests of what is held, or a comparison with what was held.
func (s *Server) checkWeights(w http.ResponseWriter, r *http.Request) {
	var c sglang.Check
	if !s.readAny(w, r, &c) {
		return
	}
	var out sglang.Checked
	message, err := s.next(r.Context(), func(ctx context.Context) (string, error) { return s.check(ctx, c, &out) })
	if err != nil {
		s.outcome(w, r, sglang.Outcome{}, err)
		return
	}
	out.Success, out.Message = true, message
	s.log.Info("weights", "path", r.URL.Path, "message", message)
	write(w, http.StatusOK, out)
}

var errScrambled = errors.New("the weights were overwritten with noise: want an update")

func (s *Server) check(ctx context.Context, c sglang.Check, out *sglang.Checked) (string, error) {
	if err := selected(c.Selector); err != nil {
		return "", err
	}
	k, err := s.keeper()
	if err != nil {
		return "", err
	}
	switch c.Action {
	case "checksum":
		return s.checksums(ctx, k, c, out)
	case "snapshot":
		err := k.Look(ctx, func(ps []*tensor.Param) { s.updates.kept = copies(ps) })
		return fmt.Sprintf("%d parameters are kept to compare with", len(s.updates.kept)), err
	case "reset_tensors":
		s.health.breakDown(errScrambled)
		if err := k.Scramble(ctx, 1); err != nil {
			s.health.mend()
			return "", err
		}
		return "all weights, and what is derived from them, are noise: nothing is served until an update", nil
	case "compare":
		return s.compare(ctx, k, c)
	}
	return "", fmt.Errorf("action is %.50q, want checksum, snapshot, reset_tensors or compare", c.Action)
}

// copies returns parameters like ps over memory of their own.
func copies(ps []*tensor.Param) []*tensor.Param {
	out := make([]*tensor.Param, len(ps))
	for i, p := range ps {
		c := *p
		c.Value = p.Value.Clone()
		out[i] = &c
	}
	return out
}

// skips reports whether a parameter is one that a caller doesn't want to be looked at: by a part of any of its names.
func (s *Server) skips(list []string, param string) bool {
	if len(list) == 0 {
		return false
	}
	names := []string{param}
	for _, scheme := range []hf.Scheme{hf.Ref, hf.Wire} {
		names = append(names, s.parts.Weights.Model.Names(scheme, param)...)
	}
	return slices.ContainsFunc(list, func(part string) bool {
		return part != "" && slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, part) })
	})
}

// checksums are digests of what weights mean: those of equal numbers are equal, however they are held.
func (s *Server) checksums(ctx context.Context, k Keeper, c sglang.Check, out *sglang.Checked) (string, error) {
	rank := sglang.CheckedRank{Checksums: map[string]string{}, Parallelism: []sglang.Parallelism{{Role: "target", Size: 1, TPSize: 1, DPSize: 1, PPSize: 1}}}
	var lines strings.Builder
	err := k.Look(ctx, func(ps []*tensor.Param) {
		for _, p := range ps {
			if s.skips(c.Skip, p.Name) {
				continue
			}
			sum := meaning(p)
			rank.Checksums[p.Name] = sum
			fmt.Fprintf(&lines, "%s %v %s\n", p.Name, p.Value.Shape, sum)
		}
	})
	total := sha256.Sum256([]byte(lines.String()))
	rank.Checksum = hex.EncodeToString(total[:])
	out.Ranks, out.Checksum = []sglang.CheckedRank{rank}, rank.Checksum
	return fmt.Sprintf("%d parameters, version %v", len(rank.Checksums), s.engine.Version()), err
}

// meaning returns 16 hexadecimal digits that the numbers of a parameter have, matrix by matrix.
func meaning(p *tensor.Param) string {
	var h weightsync.Hasher
	for _, m := range matrices(p.Value) {
		x := tensor.New(dtype.F64, m.Shape...)
		copy(x.F64(), numbers(m))
		h.Write(x.Mem)
	}
	return h.Sum().String()[:16]
}

// matrices returns the parts of a weight that are looked at one after the other.
func matrices(t *tensor.Tensor) (out []*tensor.Tensor) {
	if len(t.Shape) < 3 {
		return []*tensor.Tensor{t}
	}
	for i := range t.Shape[0] {
		out = append(out, t.Slice(i, i+1))
	}
	return out
}

// compare holds what is served against the snapshot.
func (s *Server) compare(ctx context.Context, k Keeper, c sglang.Check) (string, error) {
	if s.updates.kept == nil {
		return "", errors.New("there is no snapshot to compare with: action snapshot takes one")
	}
	want := map[string]*tensor.Tensor{}
	for _, p := range s.updates.kept {
		want[p.Name] = p.Value
	}
	var wrong []string
	n := 0
	err := k.Look(ctx, func(ps []*tensor.Param) {
		for _, p := range ps {
			if s.skips(c.Skip, p.Name) {
				continue
			}
			n++
			if d := differs(p.Value, want[p.Name], c.AllowQuantError); d != "" {
				wrong = append(wrong, p.Name+": "+d)
			}
		}
	})
	if err != nil || len(wrong) == 0 {
		return fmt.Sprintf("%d parameters are those of the snapshot", n), err
	}
	shown := strings.Join(wrong[:min(5, len(wrong))], "; ")
	return "", fmt.Errorf("%d of %d parameters are not those of the snapshot: %s", len(wrong), n, shown)
}

// differs says by how much two weights differ, "" if they don't. With lenience, codes may be off by one where the block's largest lie.
func differs(a, b *tensor.Tensor, lenient bool) string {
	count, worst, largest := 0, 0.0, 0.0
	parts := matrices(b)
	for i, m := range matrices(a) {
		x, y := numbers(m), numbers(parts[i])
		for k := range x {
			largest = max(largest, math.Abs(y[k]))
			if d := math.Abs(x[k] - y[k]); d > 0 || d != d && (x[k] == x[k] || y[k] == y[k]) {
				count++
				worst = max(worst, d)
			}
		}
	}
	step := map[dtype.Type]float64{dtype.E4M3: 32. / 448, dtype.E2M1: 2. / 6}[a.Type]
	if count == 0 || lenient && worst <= step*largest {
		return ""
	}
	return fmt.Sprintf("%d of %d numbers differ, by %.4g at most", count, a.Len(), worst)
}

package samples

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Keep says which bodies stay: all of them; those of the last N cycles; those of every N-th cycle; those of the N cycles with the largest gap. The newest cycle
// always stays. The zero value keeps all.
type Keep struct {
	rule string
	n    int
}

// ParseKeep reads all, last:N, every:K or worst:M.
func ParseKeep(s string) (Keep, error) {
	if s == "all" {
		return Keep{}, nil
	}
	rule, num, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(num)
	if (rule == "last" || rule == "every" || rule == "worst") && err == nil && n >= 1 {
		return Keep{rule, n}, nil
	}
	return Keep{}, fmt.Errorf("--keep-samples is %q, want all, last:N, every:N or worst:N with N at least 1", s)
}

// String is the reverse of [ParseKeep].
func (k Keep) String() string {
	if k.rule == "" {
		return "all"
	}
	return fmt.Sprint(k.rule, ":", k.n)
}

// drop returns the cycles whose bodies go. gaps has every cycle with its largest gap.
func (k Keep) drop(gaps map[uint32]float32) []uint32 {
	var cycles []uint32
	for c := range gaps {
		cycles = append(cycles, c)
	}
	slices.SortFunc(cycles, func(a, b uint32) int { return cmp.Compare(b, a) }) // newest first
	if len(cycles) == 0 || k.rule == "" {
		return nil
	}
	older := cycles[1:]
	switch k.rule {
	case "last":
		return older[min(k.n-1, len(older)):]
	case "every":
		return slices.DeleteFunc(older, func(c uint32) bool { return c%uint32(k.n) == 0 })
	}
	slices.SortStableFunc(cycles, func(a, b uint32) int { return cmp.Compare(gaps[b], gaps[a]) })
	newest := slices.Max(cycles)
	return slices.DeleteFunc(cycles[min(k.n, len(cycles)):], func(c uint32) bool { return c == newest })
}

// Retain deletes the bodies that k does not keep and returns how many there were. Rows stay in the index. Evaluations go with their cycle.
func (w *Writer) Retain(k Keep) (dropped int, err error) {
	if k.rule == "" {
		return 0, nil
	}
	found, err := bodies(w.dir)
	if err != nil {
		return 0, err
	}
	gaps := map[uint32]float32{}
	for _, p := range found {
		gaps[p.cycle] = max(gaps[p.cycle], w.idx.gaps[p])
	}
	gone := k.drop(gaps)
	var errs []error
	for _, p := range found {
		if !slices.Contains(gone, p.cycle) {
			continue
		}
		if err := os.Remove(filepath.Join(w.dir, Name(p.cycle, p.eval))); err != nil {
			errs = append(errs, err)
			continue
		}
		dropped++
	}
	return dropped, errors.Join(errs...)
}

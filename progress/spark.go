package progress

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// A Row is a line below the line: how a series went so far, and what is to be said of it.
type Row struct {
	Name   string
	Values []float64
	Note   string
}

// What blocks a row has at most, and with how few it still says something.
const (
	mostBlocks  = 40
	leastBlocks = 8
)

// text is the row in at most width columns: fewer blocks first, then none, then no note.
func (r Row) text(width int) string {
	name, note := fmt.Sprintf("  %-7s", r.Name), ""
	if r.Note != "" {
		note = gap + r.Note
	}
	blocks := min(mostBlocks, width-utf8.RuneCountInString(name+note)-1)
	if blocks >= leastBlocks {
		return fmt.Sprintf("%s %-*s%s", name, blocks, Spark(r.Values, blocks), note)
	}
	for _, text := range []string{name + note, strings.TrimRight(name, " ")} {
		if utf8.RuneCountInString(text) <= width {
			return text
		}
	}
	return ""
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// Spark draws values as a row of blocks, the newest at the right, at most width of them: of more, each block is the largest of its share, so that no peak is
// lost. The lowest finite value is the lowest block; where all are equal, all are low. What is not finite is a blank.
func Spark(values []float64, width int) string {
	values = shares(values, width)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(block(v, lo, hi))
	}
	return b.String()
}

func finite(v float64) bool { return v-v == 0 }

func block(v, lo, hi float64) rune {
	switch {
	case !finite(v):
		return ' '
	case hi == lo:
		return blocks[0]
	}
	return blocks[int(math.Round((v/2-lo/2)/(hi/2-lo/2)*float64(len(blocks)-1)))]
}

// shares returns the largest finite value of each of width equal shares of values, or values if they are no more.
func shares(values []float64, width int) []float64 {
	if len(values) <= width {
		return values
	}
	out := make([]float64, width)
	for i := range out {
		out[i] = math.NaN()
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			if finite(v) && !(v <= out[i]) {
				out[i] = v
			}
		}
	}
	return out
}

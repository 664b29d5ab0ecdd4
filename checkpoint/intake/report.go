package intake

import (
	"fmt"
	"strings"
)

// shownNames is how many names of tensors without a place a report keeps.
const shownNames = 20

// A Report is what a session's caller should know.
type Report struct {
	Tensors int // taken up
	Bytes   int64
	Ways    [recast + 1]int // tensors by how their bytes became those that are held
	Unknown int             // tensors that the model has no place for, left out
	Names   []string        // the first of them
	Aside   int             // tensors of draft layers, left out
	Kept    int             // tensors that did not come and are what was held; known after End
}

func (r *Report) unknown(name string) {
	r.Unknown++
	if len(r.Names) < shownNames {
		r.Names = append(r.Names, fmt.Sprintf("%.200s", name))
	}
}

// Packed returns how many weights came as numbers and were packed.
func (r Report) Packed() int { return r.Ways[packed] }

// String says it in a line.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tensors, %d bytes", r.Tensors, r.Bytes)
	for _, x := range []struct {
		n    int
		text string
	}{
		{r.Ways[packed], "packed"},
		{r.Ways[viewed], "bytes under another format's name"},
		{r.Ways[recast], "recast without loss"},
		{r.Kept, "kept as they were"},
		{r.Aside, "of draft layers left out"},
		{r.Unknown, "unknown left out"},
	} {
		if x.n > 0 {
			fmt.Fprintf(&b, "; %d %s", x.n, x.text)
		}
	}
	if r.Unknown > 0 {
		fmt.Fprintf(&b, " (%s", strings.Join(r.Names, ", "))
		if n := r.Unknown - len(r.Names); n > 0 {
			fmt.Fprintf(&b, ", and %d more", n)
		}
		b.WriteByte(')')
	}
	return b.String()
}

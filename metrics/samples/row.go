package samples

import (
	"encoding/binary"
	"math"

	"furlong/rl"
)

// A Row is what the index knows of a sample.
type Row struct {
	Cycle       uint32
	Group       uint32
	Slot        uint16 // place among the samples of the group
	Verdict     rl.Verdict
	Set         uint8 // number of the data set, or of the evaluation, in the index's list of sets
	Flags       Flags
	Reward      float32
	Advantage   float32
	PromptLen   uint32
	ResponseLen uint32
	Version     rl.Version // oldest among the response's tokens
	Span        uint16     // publications from the oldest to the newest version, at most 65535
	GapMean     float32    // mean |trainer - rollout| over the trained tokens; NaN if the trainer scored none
	GapMax      float32    // largest one, +Inf if a logprob was not finite
	Entropy     float32    // mean, NaN if not measured
	GapPos      uint32     // where in the response the largest gap is
}

// Flags are what can be said of a sample by yes or no.
type Flags uint16

// The flags.
const (
	Truncated Flags = 1 << iota // ended at the length limit
	Aborted                     // ended from outside
	Masked                      // no token of it trains
	Dropped                     // generated, but not in the batch
	Repeated                    // says the same again and again
	Garbled                     // not clean text
	Mixed                       // tokens of more than one version
	Eval                        // from an evaluation
)

var flagNames = [...]string{"truncated", "aborted", "masked", "dropped", "repeated", "garbled", "mixed", "eval"}

// Names returns the names of the flags that are set.
func (f Flags) Names() []string {
	var n []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			n = append(n, name)
		}
	}
	return n
}

// A Column is one field of all rows.
type Column int

// The columns, in the order in which records and chunks hold them.
const (
	ColCycle Column = iota
	ColGroup
	ColSlot
	ColVerdict
	ColSet
	ColFlags
	ColReward
	ColAdvantage
	ColPromptLen
	ColResponseLen
	ColVersion
	ColSpan
	ColGapMean
	ColGapMax
	ColEntropy
	ColGapPos
	numColumns
)

// RowBytes is what a row takes in the index.
const RowBytes = 52

var columns = [numColumns]struct {
	name  string
	width int
	float bool
}{
	{"cycle", 4, false},
	{"group", 4, false},
	{"slot", 2, false},
	{"verdict", 1, false},
	{"set", 1, false},
	{"flags", 2, false},
	{"reward", 4, true},
	{"advantage", 4, true},
	{"prompt_len", 4, false},
	{"response_len", 4, false},
	{"version", 4, false},
	{"span", 2, false},
	{"gap_mean", 4, true},
	{"gap_max", 4, true},
	{"entropy", 4, true},
	{"gap_pos", 4, false},
}

// String returns the column's name.
func (c Column) String() string { return columns[c].name }

// Width returns the bytes of one value.
func (c Column) Width() int { return columns[c].width }

// Value returns the i-th value of a piece of the column.
func (c Column) Value(piece []byte, i int) float64 {
	bits := c.bits(piece, i)
	if columns[c].float {
		return float64(math.Float32frombits(bits))
	}
	return float64(bits)
}

func (c Column) bits(piece []byte, i int) uint32 {
	switch c.Width() {
	case 1:
		return uint32(piece[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(piece[2*i:]))
	}
	return binary.LittleEndian.Uint32(piece[4*i:])
}

func (c Column) append(b []byte, bits uint32) []byte {
	switch c.Width() {
	case 1:
		return append(b, byte(bits))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(bits))
	}
	return binary.LittleEndian.AppendUint32(b, bits)
}

// get returns the bits that stand in column c.
func (r *Row) get(c Column) uint32 {
	switch c {
	case ColCycle:
		return r.Cycle
	case ColGroup:
		return r.Group
	case ColSlot:
		return uint32(r.Slot)
	case ColVerdict:
		return uint32(r.Verdict)
	case ColSet:
		return uint32(r.Set)
	case ColFlags:
		return uint32(r.Flags)
	case ColReward:
		return math.Float32bits(r.Reward)
	case ColAdvantage:
		return math.Float32bits(r.Advantage)
	case ColPromptLen:
		return r.PromptLen
	case ColResponseLen:
		return r.ResponseLen
	case ColVersion:
		return uint32(r.Version)
	case ColSpan:
		return uint32(r.Span)
	case ColGapMean:
		return math.Float32bits(r.GapMean)
	case ColGapMax:
		return math.Float32bits(r.GapMax)
	case ColEntropy:
		return math.Float32bits(r.Entropy)
	}
	return r.GapPos
}

// set is the reverse of get.
func (r *Row) set(c Column, bits uint32) {
	switch c {
	case ColCycle:
		r.Cycle = bits
	case ColGroup:
		r.Group = bits
	case ColSlot:
		r.Slot = uint16(bits)
	case ColVerdict:
		r.Verdict = rl.Verdict(bits)
	case ColSet:
		r.Set = uint8(bits)
	case ColFlags:
		r.Flags = Flags(bits)
	case ColReward:
		r.Reward = math.Float32frombits(bits)
	case ColAdvantage:
		r.Advantage = math.Float32frombits(bits)
	case ColPromptLen:
		r.PromptLen = bits
	case ColResponseLen:
		r.ResponseLen = bits
	case ColVersion:
		r.Version = rl.Version(bits)
	case ColSpan:
		r.Span = uint16(bits)
	case ColGapMean:
		r.GapMean = math.Float32frombits(bits)
	case ColGapMax:
		r.GapMax = math.Float32frombits(bits)
	case ColEntropy:
		r.Entropy = math.Float32frombits(bits)
	case ColGapPos:
		r.GapPos = bits
	}
}

// appendRows appends rows as records, chunks and bodies hold them: column by column.
func appendRows(b []byte, rows []Row) []byte {
	for c := range numColumns {
		b = AppendColumn(b, c, rows)
	}
	return b
}

// readRows is the reverse of appendRows. b must hold whole rows.
func readRows(b []byte) []Row {
	rows := make([]Row, len(b)/RowBytes)
	for c := range numColumns {
		for i := range rows {
			rows[i].set(c, c.bits(b, i))
		}
		b = b[len(rows)*c.Width():]
	}
	return rows
}

// AppendColumn appends one column of rows, as chunks hold it; [Column.Value] reads it.
func AppendColumn(b []byte, c Column, rows []Row) []byte {
	for i := range rows {
		b = c.append(b, rows[i].get(c))
	}
	return b
}

// NumColumns is the number of columns.
const NumColumns = int(numColumns)

// SetColumn sets the field of r that c stands for from the i-th value of a piece of the column.
func (r *Row) SetColumn(c Column, piece []byte, i int) { r.set(c, c.bits(piece, i)) }

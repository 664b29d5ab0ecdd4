package samples

import "hash/crc32"

// A body begins with a prefix of prefixBytes, a JSON header, and zeros up to a multiple of 8; then come the columns.
const (
	bodyMagic   = "FURLSAM1"
	prefixBytes = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the JSON part of a body.
type header struct {
	Eval    string   `json:"eval"`
	Sets    []string `json:"sets"` // names of the data sets, by the numbers in the rows
	Columns []column `json:"columns"`
	Experts *model   `json:"experts,omitempty"` // what the experts are of, where any are kept
}

// column says where a column lies. Offsets count from the first column.
type column struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // u8 u32 f32 f64, row (columns of 52 bytes a sample), bytes
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	CRC    uint32 `json:"crc"`
}

// Columns with one value a sample. The _to columns say where a sample's part of the longer columns ends.
const (
	colRow        = "row"
	colPromptTo   = "prompt_to"
	colResponseTo = "response_to"
	colTextTo     = "text_to"
	colRunTo      = "run_to"
	colFactsTo    = "facts_to"
	colReward     = "reward"
	colAdvantage  = "advantage"
	colHas        = "has"
	colSum        = "sum"
)

// Columns of experts. They came later than the others, so a sample's part of them has a checksum of its own, and they are not among parts: readers that do not
// know them pass over them.
const (
	colExperts    = "experts"
	colExpertsTo  = "experts_to"
	colExpertsSum = "experts_sum"
)

// A unit is what a long column has one value for.
type unit int

const (
	perByteOfFacts unit = iota
	perToken            // of prompt and response
	perByteOfText
	perResponse // token
	perMaskByte // 8 response tokens; each sample begins a byte
	perRun      // of tokens by one version
	numUnits
)

// part is one of the long columns.
type part int

// The long columns, in the order in which a sample's checksum takes them.
const (
	partFacts part = iota
	partToken
	partTextEnd
	partText
	partRollout
	partTrunc
	partTrainer
	partReference
	partEntropy
	partRatio
	partMask
	partRunVersion
	partRunTokens
	numParts
)

var parts = [numParts]struct {
	name, typ string
	unit      unit
	width     int64
	has       uint8 // bit in the has column; 0: every sample has it
}{
	{"facts", "bytes", perByteOfFacts, 1, 0},
	{"token", "u32", perToken, 4, 0},
	{"text_end", "u32", perToken, 4, 0},
	{"text", "bytes", perByteOfText, 1, 0},
	{"rollout", "f32", perResponse, 4, 0},
	{"rollout_truncated", "f32", perResponse, 4, 1},
	{"trainer", "f32", perResponse, 4, 2},
	{"reference", "f32", perResponse, 4, 32},
	{"entropy", "f32", perResponse, 4, 4},
	{"ratio", "f32", perResponse, 4, 8},
	{"mask", "u8", perMaskByte, 1, 16},
	{"run_version", "u32", perRun, 4, 0},
	{"run_tokens", "u32", perRun, 4, 0},
}

// has returns the bits of the optional columns that s fills.
func (s *Sample) has() uint8 {
	var h uint8
	for p, there := range map[part]bool{
		partTrunc: s.TruncLogProbs != nil, partTrainer: s.TrainLogProbs != nil, partReference: s.RefLogProbs != nil,
		partEntropy: s.Entropy != nil, partRatio: s.Ratio != nil, partMask: s.Mask != nil,
	} {
		if there {
			h |= parts[p].has
		}
	}
	return h
}

func pad8(n int64) int64 { return (n + 7) &^ 7 }

package samples

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A builder lays out a body, sample by sample.
type builder struct {
	text  func(token int32) []byte
	there uint8 // optional columns that any sample fills
	rows  []Row
	parts [numParts][]byte
	to    [5][]uint32 // ends of prompt, response, text, runs, facts
	ends  [5]int
	nums  [2][]float64 // reward, advantage
	has   []byte
	sums  []uint32

	keep       keeping
	experts    []byte
	expertsTo  []uint64
	expertsSum []uint32
}

func newBuilder(text func(int32) []byte, all []Sample, keep keeping) *builder {
	b := &builder{text: text, keep: keep}
	for i := range all {
		b.there |= all[i].has()
	}
	return b
}

func (b *builder) add(s *Sample, r Row) error {
	var from [numParts]int
	for p := range from {
		from[p] = len(b.parts[p])
	}
	if err := b.tokens(s); err != nil {
		return err
	}
	b.responses(s)
	b.chosen(s)
	for _, run := range s.Versions {
		b.parts[partRunVersion] = binary.LittleEndian.AppendUint32(b.parts[partRunVersion], uint32(run.Version))
		b.parts[partRunTokens] = binary.LittleEndian.AppendUint32(b.parts[partRunTokens], uint32(run.Tokens))
	}
	var sum uint32
	for p := range from {
		sum = crc32.Update(sum, castagnoli, b.parts[p][from[p]:])
	}
	b.rows, b.sums, b.has = append(b.rows, r), append(b.sums, sum), append(b.has, s.has())
	b.nums[0], b.nums[1] = append(b.nums[0], s.Reward), append(b.nums[1], s.Advantage)
	return b.close(len(s.Prompt.Tokens), len(s.Response), len(s.Versions))
}

// tokens appends ids, texts and facts.
func (b *builder) tokens(s *Sample) error {
	ids := s.Tokens()
	texts := make([][]byte, len(ids))
	for i, id := range ids {
		texts[i] = b.text(id)
		b.parts[partText] = append(b.parts[partText], texts[i]...)
		b.parts[partTextEnd] = binary.LittleEndian.AppendUint32(b.parts[partTextEnd], uint32(len(b.parts[partText])))
		b.parts[partToken] = binary.LittleEndian.AppendUint32(b.parts[partToken], uint32(id))
	}
	f, err := json.Marshal(newFacts(s, texts))
	if err != nil {
		return fmt.Errorf("group %d sample %d: %w", s.Prompt.Group, s.Index, err)
	}
	b.parts[partFacts] = append(b.parts[partFacts], f...)
	return nil
}

// responses appends the columns that go over the response.
func (b *builder) responses(s *Sample) {
	n := len(s.Response)
	for p, v := range map[part][]float32{
		partRollout: s.LogProbs, partTrunc: s.TruncLogProbs, partTrainer: s.TrainLogProbs, partReference: s.RefLogProbs,
		partEntropy: s.Entropy, partRatio: s.Ratio,
	} {
		if parts[p].has == 0 || b.there&parts[p].has != 0 {
			b.parts[p] = appendFloats(b.parts[p], v, n)
		}
	}
	if b.there&parts[partMask].has != 0 {
		b.parts[partMask] = appendMask(b.parts[partMask], s.Mask, n)
	}
}

// chosen appends what is kept of the experts.
func (b *builder) chosen(s *Sample) {
	from := len(b.experts)
	b.experts = b.keep.pack(b.experts, len(b.rows), s)
	b.expertsTo = append(b.expertsTo, uint64(len(b.experts)))
	b.expertsSum = append(b.expertsSum, crc32.Checksum(b.experts[from:], castagnoli))
}

// appendFloats appends v, or n times NaN if v is nil.
func appendFloats(b []byte, v []float32, n int) []byte {
	for i := range n {
		x := float32(math.NaN())
		if v != nil {
			x = v[i]
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// appendMask appends n bits, lowest first, or ones if mask is nil.
func appendMask(b []byte, mask []bool, n int) []byte {
	for i := 0; i < n; i += 8 {
		var bits byte
		for j := i; j < min(i+8, n); j++ {
			if mask == nil || mask[j] {
				bits |= 1 << (j - i)
			}
		}
		b = append(b, bits)
	}
	return b
}

// close notes where the sample ends.
func (b *builder) close(prompt, response, runs int) error {
	b.ends[0] += prompt
	b.ends[1] += response
	b.ends[2] = len(b.parts[partText])
	b.ends[3] += runs
	b.ends[4] = len(b.parts[partFacts])
	for i, end := range b.ends {
		if end > math.MaxUint32 {
			return fmt.Errorf("body holds %d tokens and %d bytes of text, want under 4 Gi each", b.ends[0]+b.ends[1], b.ends[2])
		}
		b.to[i] = append(b.to[i], uint32(end))
	}
	return nil
}

// columns returns the body's columns and their content, side by side.
func (b *builder) columns() (cols []column, data [][]byte) {
	add := func(name, typ string, content []byte) {
		var at int64
		if n := len(cols); n > 0 {
			at = pad8(cols[n-1].Offset + cols[n-1].Bytes)
		}
		cols = append(cols, column{name, typ, at, int64(len(content)), crc32.Checksum(content, castagnoli)})
		data = append(data, content)
	}
	add(colRow, "row", appendRows(nil, b.rows))
	for i, name := range []string{colPromptTo, colResponseTo, colTextTo, colRunTo, colFactsTo} {
		add(name, "u32", little(b.to[i]))
	}
	add(colReward, "f64", little(b.nums[0]))
	add(colAdvantage, "f64", little(b.nums[1]))
	add(colHas, "u8", b.has)
	add(colSum, "u32", little(b.sums))
	for p, info := range parts {
		if info.has == 0 || b.there&info.has != 0 {
			add(info.name, info.typ, b.parts[p])
		}
	}
	if len(b.experts) > 0 {
		add(colExpertsTo, "u64", little(b.expertsTo))
		add(colExpertsSum, "u32", little(b.expertsSum))
		add(colExperts, "bytes", b.experts)
	}
	return cols, data
}

// little returns v, a slice of numbers, in little-endian bytes.
func little(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // v is no slice of numbers
	}
	return b
}

// writeTo writes the whole body.
func (b *builder) writeTo(w io.Writer, k Key, sets []string) error {
	cols, data := b.columns()
	head := header{Eval: k.Eval, Sets: sets, Columns: cols}
	if len(b.experts) > 0 {
		head.Experts = b.keep.model
	}
	h, err := json.Marshal(head)
	if err != nil {
		return err
	}
	out := padder{w: w}
	out.write(prefix(k, len(b.rows), h))
	out.write(h)
	for _, d := range data {
		out.pad()
		out.write(d)
	}
	return out.err
}

func prefix(k Key, samples int, header []byte) []byte {
	p := []byte(bodyMagic)
	for _, v := range []uint32{k.Cycle, k.Attempt, uint32(samples), uint32(len(header)), crc32.Checksum(header, castagnoli)} {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	return binary.LittleEndian.AppendUint32(p, crc32.Checksum(p, castagnoli))
}

// A padder writes until the first error and knows where it is.
type padder struct {
	w   io.Writer
	at  int64
	err error
}

func (p *padder) write(b []byte) {
	if p.err != nil {
		return
	}
	var n int
	n, p.err = p.w.Write(b)
	p.at += int64(n)
}

func (p *padder) pad() { p.write(make([]byte, pad8(p.at)-p.at)) }

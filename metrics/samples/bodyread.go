package samples

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"furlong/metrics/disk"
	"furlong/rl"
)

// A Key names a body and its record in the index.
type Key struct {
	Cycle   uint32
	Attempt uint32
	Eval    string // name of the evaluation; empty for the samples of the loop
}

// A Body is an open file of samples. It may be read from several goroutines at once.
type Body struct {
	Key
	Sets []string // names of the data sets, by the numbers in Rows
	Rows []Row    // one a sample

	r       io.ReaderAt
	name    string
	close   func() error
	data    int64 // where the first column begins
	columns []column
	starts  [numUnits][]int64 // where sample i begins, with one more entry at the end
	reward  []float64
	adv     []float64
	has     []byte
	sums    []uint32

	model      *model // of the experts, nil where none are kept
	expertsTo  []uint64
	expertsSum []uint32
}

// A Stored is a sample as a body keeps it.
type Stored struct {
	Sample
	Row   Row
	Texts []string // text of each token, prompt and response; may be broken UTF-8

	Chosen *Chosen // experts, as far as they are kept; nil for nothing. Experts and TrainExperts are filled too where all are
}

// OpenBody opens a .fls file. It reads the rows and where each sample lies; tokens are read by [Body.Sample].
func OpenBody(path string) (*Body, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b, err := newBody(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	b.name, b.close = path, f.Close
	return b, nil
}

// readKey reads the beginning of a body only.
func readKey(path, eval string) (Key, error) {
	f, err := disk.Open(path)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	b := Body{r: f}
	if _, _, _, err := b.prefix(info.Size()); err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return Key{b.Cycle, b.Attempt, eval}, nil
}

// Close closes the file.
func (b *Body) Close() error { return b.close() }

func newBody(r io.ReaderAt, size int64) (*Body, error) {
	b := &Body{r: r}
	samples, headerBytes, headerCRC, err := b.prefix(size)
	if err != nil {
		return nil, err
	}
	if err := b.header(headerBytes, headerCRC, size); err != nil {
		return nil, err
	}
	if err := b.perSample(samples); err != nil {
		return nil, err
	}
	return b, b.checkStarts()
}

func (b *Body) prefix(size int64) (samples, headerBytes int64, headerCRC uint32, err error) {
	var p [prefixBytes]byte
	if _, err := b.r.ReadAt(p[:], 0); err != nil {
		return 0, 0, 0, fmt.Errorf("prefix: %w", short(err))
	}
	if string(p[:8]) != bodyMagic {
		return 0, 0, 0, fmt.Errorf("begins with %q, want %q", p[:8], bodyMagic)
	}
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(p[at:]) }
	if got := crc32.Checksum(p[:28], castagnoli); got != u(28) {
		return 0, 0, 0, fmt.Errorf("prefix has checksum %08x, want %08x", got, u(28))
	}
	b.Cycle, b.Attempt = u(8), u(12)
	if n := int64(u(20)); n > size-prefixBytes {
		return 0, 0, 0, fmt.Errorf("header of %d bytes, the file has %d", n, size)
	}
	return int64(u(16)), int64(u(20)), u(24), nil
}

// short says of an end of file that it came too early.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (b *Body) header(n int64, crc uint32, size int64) error {
	raw := make([]byte, n)
	if _, err := b.r.ReadAt(raw, prefixBytes); err != nil {
		return fmt.Errorf("header: %w", short(err))
	}
	if got := crc32.Checksum(raw, castagnoli); got != crc {
		return fmt.Errorf("header has checksum %08x, want %08x", got, crc)
	}
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	b.Eval, b.Sets, b.columns, b.model = h.Eval, h.Sets, h.Columns, h.Experts
	b.data = pad8(prefixBytes + n)
	for _, c := range b.columns {
		if room := size - b.data; c.Bytes < 0 || c.Bytes > room || c.Offset < 0 || c.Offset > room-c.Bytes {
			return fmt.Errorf("column %s is %d bytes at %d, the file has %d behind its header", c.Name, c.Bytes, c.Offset, max(room, 0))
		}
	}
	return nil
}

func (b *Body) find(name string) (column, bool) {
	i := slices.IndexFunc(b.columns, func(c column) bool { return c.Name == name })
	if i < 0 {
		return column{}, false
	}
	return b.columns[i], true
}

// whole returns a column of n values, checked.
func (b *Body) whole(name string, n, width int64) ([]byte, error) {
	c, ok := b.find(name)
	if !ok {
		return nil, fmt.Errorf("has no column %s", name)
	}
	if c.Bytes != n*width {
		return nil, fmt.Errorf("column %s is %d bytes, want %d for %d samples", name, c.Bytes, n*width, n)
	}
	raw := make([]byte, c.Bytes)
	if _, err := b.r.ReadAt(raw, b.data+c.Offset); err != nil {
		return nil, fmt.Errorf("column %s: %w", name, short(err))
	}
	if got := crc32.Checksum(raw, castagnoli); got != c.CRC {
		return nil, fmt.Errorf("column %s has checksum %08x, want %08x", name, got, c.CRC)
	}
	return raw, nil
}

func (b *Body) perSample(n int64) error {
	raw, err := b.whole(colRow, n, RowBytes)
	if err != nil {
		return err
	}
	b.Rows = readRows(raw)
	var ends [5][]uint32
	for i, name := range []string{colPromptTo, colResponseTo, colTextTo, colRunTo, colFactsTo} {
		if ends[i], err = numbers[uint32](b, name, n, 4); err != nil {
			return err
		}
	}
	if b.reward, err = numbers[float64](b, colReward, n, 8); err != nil {
		return err
	}
	if b.adv, err = numbers[float64](b, colAdvantage, n, 8); err != nil {
		return err
	}
	if b.has, err = b.whole(colHas, n, 1); err != nil {
		return err
	}
	if b.sums, err = numbers[uint32](b, colSum, n, 4); err != nil {
		return err
	}
	b.start(ends[0], ends[1], ends[2], ends[3], ends[4])
	return b.perExperts(n)
}

// numbers reads a column of n values a sample.
func numbers[T uint32 | uint64 | float32 | float64](b *Body, name string, n, width int64) ([]T, error) {
	raw, err := b.whole(name, n, width)
	if err != nil {
		return nil, err
	}
	return values[T](raw, int(n)), nil
}

// values returns the n numbers in raw.
func values[T uint32 | uint64 | int32 | float32 | float64](raw []byte, n int) []T {
	v := make([]T, n)
	if _, err := binary.Decode(raw, binary.LittleEndian, v); err != nil {
		panic(err) // raw is shorter than n values
	}
	return v
}

// start works out where each sample begins in every unit.
func (b *Body) start(prompt, response, text, runs, facts []uint32) {
	for u := range b.starts {
		b.starts[u] = make([]int64, 1, len(prompt)+1)
	}
	add := func(u unit, at int64) { b.starts[u] = append(b.starts[u], at) }
	var last, mask int64
	for i := range prompt {
		add(perToken, int64(prompt[i])+int64(response[i]))
		add(perResponse, int64(response[i]))
		add(perByteOfText, int64(text[i]))
		add(perRun, int64(runs[i]))
		add(perByteOfFacts, int64(facts[i]))
		mask += (int64(response[i]) - last + 7) >> 3
		last = int64(response[i])
		add(perMaskByte, mask)
	}
}

// checkStarts reports starts that go backwards or do not end where their columns do.
func (b *Body) checkStarts() error {
	n := len(b.Rows)
	for u, s := range b.starts {
		if !slices.IsSorted(s) {
			return fmt.Errorf("ends of samples go backwards (unit %d)", u)
		}
	}
	for i := range n {
		if lo, hi := b.starts[perResponse][i], b.starts[perResponse][i+1]; hi-lo > b.starts[perToken][i+1]-b.starts[perToken][i] {
			return fmt.Errorf("sample %d has %d response tokens, more than tokens", i, hi-lo)
		}
	}
	for _, p := range parts {
		c, ok := b.find(p.name)
		if !ok && p.has == 0 {
			return fmt.Errorf("has no column %s", p.name)
		}
		if want := p.width * b.starts[p.unit][n]; ok && c.Bytes != want {
			return fmt.Errorf("column %s is %d bytes, want %d", p.name, c.Bytes, want)
		}
	}
	return nil
}

// Sample reads sample i and checks its bytes.
func (b *Body) Sample(i int) (*Stored, error) {
	raw, err := b.bytesOf(i)
	if err != nil {
		return nil, fmt.Errorf("%s: sample %d: %w", b.name, i, err)
	}
	s, err := b.decode(i, raw)
	if err == nil {
		s.Chosen, err = b.chosen(i)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: sample %d: %w", b.name, i, err)
	}
	s.Experts, s.TrainExperts = s.Chosen.Routes(ByRollout), s.Chosen.Routes(ByTrainer)
	return s, nil
}

// bytesOf reads what the long columns hold of sample i; nil for a column that is not there.
func (b *Body) bytesOf(i int) (raw [numParts][]byte, err error) {
	var sum uint32
	for p, info := range parts {
		c, ok := b.find(info.name)
		if !ok {
			continue
		}
		lo, hi := info.width*b.starts[info.unit][i], info.width*b.starts[info.unit][i+1]
		raw[p] = make([]byte, hi-lo)
		if _, err := b.r.ReadAt(raw[p], b.data+c.Offset+lo); err != nil && hi > lo {
			return raw, fmt.Errorf("column %s: %w", info.name, short(err))
		}
		sum = crc32.Update(sum, castagnoli, raw[p])
	}
	if sum != b.sums[i] {
		return raw, fmt.Errorf("checksum is %08x, want %08x", sum, b.sums[i])
	}
	return raw, nil
}

func (b *Body) decode(i int, raw [numParts][]byte) (*Stored, error) {
	var f facts
	if err := json.Unmarshal(raw[partFacts], &f); err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	texts, err := b.texts(i, raw)
	if err != nil {
		return nil, err
	}
	r := b.Rows[i]
	n := len(raw[partRollout]) / 4
	tokens := values[int32](raw[partToken], len(raw[partToken])/4)
	p := len(tokens) - n
	s := &rl.Sample{
		Prompt: &rl.Prompt{Group: int64(r.Group), Tokens: tokens[:p:p]}, Index: int(r.Slot), Response: tokens[p:],
		Verdict: r.Verdict, Reward: b.reward[i], Advantage: b.adv[i],
	}
	f.fill(s, texts)
	stored := &Stored{Sample: Sample{Sample: s, Dropped: r.Flags&Dropped != 0}, Row: r, Texts: texts}
	b.columnsOf(stored, b.has[i], raw, n)
	return stored, nil
}

// texts cuts the sample's text into the texts of its tokens.
func (b *Body) texts(i int, raw [numParts][]byte) ([]string, error) {
	base := b.starts[perByteOfText][i]
	ends := values[uint32](raw[partTextEnd], len(raw[partTextEnd])/4)
	texts := make([]string, len(ends))
	last := int64(0)
	for t, end := range ends {
		to := int64(end) - base
		if to < last || to > int64(len(raw[partText])) {
			return nil, fmt.Errorf("text of token %d ends at %d, want %d to %d", t, to, last, len(raw[partText]))
		}
		texts[t], last = string(raw[partText][last:to]), to
	}
	return texts, nil
}

// columnsOf fills the columns over the response.
func (b *Body) columnsOf(s *Stored, has uint8, raw [numParts][]byte, n int) {
	floats := func(p part) []float32 {
		if raw[p] == nil || parts[p].has != 0 && has&parts[p].has == 0 {
			return nil
		}
		return values[float32](raw[p], n)
	}
	s.LogProbs, s.TruncLogProbs, s.TrainLogProbs = floats(partRollout), floats(partTrunc), floats(partTrainer)
	s.RefLogProbs, s.Entropy, s.Ratio = floats(partReference), floats(partEntropy), floats(partRatio)
	if raw[partMask] != nil && has&parts[partMask].has != 0 {
		s.Mask = make([]bool, n)
		for i := range s.Mask {
			s.Mask[i] = raw[partMask][i>>3]>>(i&7)&1 == 1
		}
	}
	for i := range len(raw[partRunVersion]) / 4 {
		at := func(p part) uint32 { return binary.LittleEndian.Uint32(raw[p][4*i:]) }
		s.Versions = append(s.Versions, rl.Span{Version: rl.Version(at(partRunVersion)), Tokens: int(at(partRunTokens))})
	}
}

// Verify reads the whole file and checks every column.
func (b *Body) Verify() error {
	for _, c := range b.columns {
		h := crc32.New(castagnoli)
		if _, err := io.Copy(h, io.NewSectionReader(b.r, b.data+c.Offset, c.Bytes)); err != nil {
			return fmt.Errorf("%s: column %s: %w", b.name, c.Name, err)
		}
		if h.Sum32() != c.CRC {
			return fmt.Errorf("%s: column %s has checksum %08x, want %08x", b.name, c.Name, h.Sum32(), c.CRC)
		}
	}
	return nil
}

// At returns the number of the sample of a group and slot, or -1.
func (b *Body) At(group uint32, slot uint16) int {
	return slices.IndexFunc(b.Rows, func(r Row) bool { return r.Group == group && r.Slot == slot })
}

// MayHold reports whether an answer of the body may hold a text, upper and lower case alike; find is in lower case. One read of all texts rules most bodies out.
func (b *Body) MayHold(find string) (bool, error) {
	for _, name := range []string{parts[partText].name, parts[partFacts].name} {
		c, _ := b.find(name) // every body has them
		raw := make([]byte, c.Bytes)
		if _, err := b.r.ReadAt(raw, b.data+c.Offset); err != nil && c.Bytes > 0 {
			return false, fmt.Errorf("%s: column %s: %w", b.name, name, short(err))
		}
		if name == parts[partFacts].name {
			return bytes.Contains(raw, []byte(`,"text":`)), nil // an answer that its tokens do not spell
		}
		if bytes.Contains(bytes.ToLower(raw), []byte(find)) {
			return true, nil
		}
	}
	return false, nil
}

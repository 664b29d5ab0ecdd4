package samples

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"furlong/metrics/disk"
)

// A chunk is a sealed piece of the index: header, table of records, table of zones, columns.
const (
	chunkMagic  = "FURLIDX1"
	chunkHead   = 32
	entryBytes  = 16
	zoneBytes   = 20
	blockRows   = 4096
	chunkFormat = "chunk-%05d.fli"
)

// A Zone is what is known of one block of a column without reading it. NaNs lie outside: a block of nothing else has Min
// above Max, and a filter that NaN passes must not skip a block by its zone.
type Zone struct {
	Min, Max float64
	crc      uint32
}

// An Entry says which rows of a chunk belong to one body.
type Entry struct {
	Cycle, Attempt uint32
	source         uint32
	First, Count   int
}

// A Chunk is an open chunk-*.fli. It may be read from several goroutines at once.
type Chunk struct {
	Number  uint32
	Rows    int
	Entries []Entry

	r     io.ReaderAt
	name  string
	info  os.FileInfo
	close func() error
	zones [numColumns][]Zone
	at    [numColumns]int64 // where a column begins
}

// Block is the number of rows that one zone covers; the last block of a chunk may be shorter.
const Block = blockRows

// appendChunk appends the chunk that holds records.
func appendChunk(b []byte, number uint32, records []record) []byte {
	var rows []Row
	var tables []byte
	for _, r := range records {
		for _, v := range []uint32{r.cycle, r.attempt, r.source, uint32(len(r.rows))} {
			tables = binary.LittleEndian.AppendUint32(tables, v)
		}
		rows = append(rows, r.rows...)
	}
	data := appendRows(nil, rows)
	at := 0
	for c := range numColumns {
		n := len(rows) * c.Width()
		tables = appendZones(tables, c, data[at:at+n])
		at += n
	}
	from := len(b)
	b = append(b, chunkMagic...)
	for _, v := range []uint32{number, uint32(len(rows)), uint32(len(records)), uint32(numColumns), blockRows} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	sum := crc32.Update(crc32.Checksum(b[from:], castagnoli), castagnoli, tables)
	b = binary.LittleEndian.AppendUint32(b, sum)
	return append(append(b, tables...), data...)
}

// appendZones appends one zone for each block of a whole column.
func appendZones(b []byte, c Column, data []byte) []byte {
	for size := blockRows * c.Width(); len(data) > 0; {
		piece := data[:min(size, len(data))]
		data = data[len(piece):]
		z := zoneOf(c, piece)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(z.Min))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(z.Max))
		b = binary.LittleEndian.AppendUint32(b, z.crc)
	}
	return b
}

func zoneOf(c Column, piece []byte) Zone {
	z := Zone{math.Inf(1), math.Inf(-1), crc32.Checksum(piece, castagnoli)}
	for i := range len(piece) / c.Width() {
		if v := c.Value(piece, i); !math.IsNaN(v) {
			z.Min, z.Max = min(z.Min, v), max(z.Max, v)
		}
	}
	return z
}

// OpenChunk opens a sealed piece of the index and reads its tables.
func OpenChunk(path string) (*Chunk, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c, err := newChunk(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	c.name, c.info, c.close = path, info, f.Close
	return c, nil
}

// current reports whether the file at the chunk's path is still the one that is open.
func (c *Chunk) current() bool {
	info, err := os.Stat(c.name)
	return err == nil && os.SameFile(info, c.info)
}

// Close closes the file.
func (c *Chunk) Close() error { return c.close() }

func newChunk(r io.ReaderAt, size int64) (*Chunk, error) {
	var h [chunkHead]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return nil, fmt.Errorf("header: %w", short(err))
	}
	if string(h[:8]) != chunkMagic {
		return nil, fmt.Errorf("begins with %q, want %q", h[:8], chunkMagic)
	}
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(h[at:]) }
	if u(20) != uint32(numColumns) || u(24) != blockRows {
		return nil, fmt.Errorf("has %d columns and blocks of %d, want %d and %d", u(20), u(24), numColumns, blockRows)
	}
	rows, records := int64(u(12)), int64(u(16))
	tableBytes := entryBytes*records + zoneBytes*int64(numColumns)*blocks(rows)
	if want := chunkHead + tableBytes + RowBytes*rows; size != want {
		return nil, fmt.Errorf("is %d bytes, want %d for %d rows and %d records", size, want, rows, records)
	}
	tables := make([]byte, tableBytes)
	if _, err := r.ReadAt(tables, chunkHead); err != nil {
		return nil, fmt.Errorf("tables: %w", short(err))
	}
	if got := crc32.Update(crc32.Checksum(h[:28], castagnoli), castagnoli, tables); got != u(28) {
		return nil, fmt.Errorf("header and tables have checksum %08x, want %08x", got, u(28))
	}
	c := &Chunk{Number: u(8), Rows: int(rows), r: r}
	return c, c.tables(tables, records, chunkHead+tableBytes)
}

func blocks(rows int64) int64 { return (rows + blockRows - 1) / blockRows }

// tables takes the tables apart. data is where the first column begins.
func (c *Chunk) tables(b []byte, records, data int64) error {
	first := 0
	for range records {
		u := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
		c.Entries = append(c.Entries, Entry{u(0), u(4), u(8), first, int(u(12))})
		first += int(u(12))
		b = b[entryBytes:]
	}
	if first != c.Rows {
		return fmt.Errorf("records have %d rows, the chunk %d", first, c.Rows)
	}
	for col := range numColumns {
		c.at[col] = data
		data += int64(c.Rows * col.Width())
		for range blocks(int64(c.Rows)) {
			f := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) }
			c.zones[col] = append(c.zones[col], Zone{f(0), f(8), binary.LittleEndian.Uint32(b[16:])})
			b = b[zoneBytes:]
		}
	}
	return nil
}

// Blocks returns the number of blocks.
func (c *Chunk) Blocks() int { return int(blocks(int64(c.Rows))) }

// Zone returns what is known of a block of a column.
func (c *Chunk) Zone(col Column, block int) Zone { return c.zones[col][block] }

// Read reads a block of a column into buf, or a larger one, and checks it. [Column.Value] reads its values.
func (c *Chunk) Read(col Column, block int, buf []byte) ([]byte, error) {
	n := min(blockRows, c.Rows-block*blockRows) * col.Width()
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := c.r.ReadAt(buf, c.at[col]+int64(block*blockRows*col.Width())); err != nil {
		return nil, fmt.Errorf("%s: column %s block %d: %w", c.name, col, block, short(err))
	}
	if got, want := crc32.Checksum(buf, castagnoli), c.zones[col][block].crc; got != want {
		return nil, fmt.Errorf("%s: column %s block %d has checksum %08x, want %08x", c.name, col, block, got, want)
	}
	return buf, nil
}

// ReadRows reads all rows.
func (c *Chunk) ReadRows() ([]Row, error) {
	rows := make([]Row, c.Rows)
	var buf []byte
	var err error
	for col := range numColumns {
		for block := range c.Blocks() {
			if buf, err = c.Read(col, block, buf); err != nil {
				return nil, err
			}
			for i := range len(buf) / col.Width() {
				rows[block*blockRows+i].set(col, col.bits(buf, i))
			}
		}
	}
	return rows, nil
}

// records reads the whole chunk as the records it was made from.
func (c *Chunk) records() ([]record, error) {
	rows, err := c.ReadRows()
	if err != nil {
		return nil, err
	}
	var all []record
	for _, e := range c.Entries {
		all = append(all, record{e.Cycle, e.Attempt, e.source, rows[e.First : e.First+e.Count]})
	}
	return all, nil
}

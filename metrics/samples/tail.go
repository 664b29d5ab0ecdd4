package samples

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// The tail of the index: a header, then records until the file is sealed into a chunk.
const (
	tailName     = "tail.fli"
	tailMagic    = "FURLTAI1"
	tailHead     = 16 // magic, number of the chunk that the tail will be, checksum
	recordHead   = 20 // length, cycle, attempt, source, count
	recordExtra  = recordHead + 4
	sealAt       = 65_536 // rows
	loop         = 0      // source of a record from the loop; an evaluation has the number of its set plus 1
	maxSetNumber = math.MaxUint8
)

// A record is the rows of one body.
type record struct {
	cycle, attempt, source uint32
	rows                   []Row
}

// key returns the name of the body that r came from.
func (r record) key(sets []string) Key { return key(r.cycle, r.attempt, r.source, sets) }

func key(cycle, attempt, source uint32, sets []string) Key {
	k := Key{Cycle: cycle, Attempt: attempt}
	if source != loop {
		k.Eval = setName(sets, source-1)
	}
	return k
}

// setName returns the name of set n, or a stand-in where the list of sets was lost.
func setName(sets []string, n uint32) string {
	if int(n) < len(sets) {
		return sets[n]
	}
	return fmt.Sprintf("set-%d", n)
}

func appendTailHead(b []byte, number uint32) []byte {
	from := len(b)
	b = append(b, tailMagic...)
	b = binary.LittleEndian.AppendUint32(b, number)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

func (r record) append(b []byte) []byte {
	from := len(b)
	for _, v := range []uint32{uint32(recordExtra + RowBytes*len(r.rows)), r.cycle, r.attempt, r.source, uint32(len(r.rows))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = appendRows(b, r.rows)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// readTail reads a tail as far as it is good: the number of the chunk it will be, its records, and where they end. Without a good
// header there are none, and ok is false.
func readTail(b []byte) (number uint32, records []record, good int, ok bool) {
	if len(b) < tailHead || string(b[:8]) != tailMagic || crc32.Checksum(b[:12], castagnoli) != binary.LittleEndian.Uint32(b[12:]) {
		return 0, nil, 0, false
	}
	number, good = binary.LittleEndian.Uint32(b[8:]), tailHead
	for {
		r, n := readRecord(b[good:])
		if n == 0 {
			return number, records, good, true
		}
		records, good = append(records, r), good+n
	}
}

// readRecord reads the record that b begins with and returns its length, 0 if there is no whole and sound one.
func readRecord(b []byte) (record, int) {
	if len(b) < recordExtra {
		return record{}, 0
	}
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	length, count := int64(u(0)), int64(u(16))
	if length > int64(len(b)) || length != recordExtra+RowBytes*count {
		return record{}, 0
	}
	end := int(length) - 4
	if crc32.Checksum(b[:end], castagnoli) != u(end) {
		return record{}, 0
	}
	return record{u(4), u(8), u(12), readRows(b[recordHead:end])}, int(length)
}

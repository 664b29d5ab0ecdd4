package pull

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/adler32"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"furlong/weightsync"
)

// checksums are those of new bytes, by the names that indexes use, in hexadecimal digits.
var checksums = map[string]func([]byte) string{
	"xxh3-128": func(b []byte) string { return weightsync.Digest(b).String() },
	"blake3":   func(b []byte) string { s := blake3.Sum256(b); return hex.EncodeToString(s[:]) },
	"adler32":  func(b []byte) string { return fmt.Sprintf("%08x", adler32.Checksum(b)) },
}

// fresh returns the new bytes of a tensor, in memory of their own.
func (d *delta) fresh(old, blob []byte) ([]byte, error) {
	if d.overwrite {
		diff, err := decompress(blob, 4+5*len(old))
		if err != nil {
			return nil, err
		}
		return overwrite(old, diff)
	}
	diff, err := decompress(blob, len(old))
	if err != nil {
		return nil, err
	}
	if len(diff) != len(old) {
		return nil, fmt.Errorf("its delta is %d bytes, want %d", len(diff), len(old))
	}
	for i, b := range old {
		diff[i] ^= b
	}
	return diff, nil
}

// overwrite returns old with bytes replaced: a count, as many positions, and as many bytes.
func overwrite(old, diff []byte) ([]byte, error) {
	if len(diff) < 4 {
		return nil, fmt.Errorf("its delta is %d bytes, want at least 4", len(diff))
	}
	n := int(binary.LittleEndian.Uint32(diff))
	if len(diff) != 4+5*n {
		return nil, fmt.Errorf("its delta is %d bytes, want %d for %d positions", len(diff), 4+5*n, n)
	}
	positions, values := diff[4:4+4*n], diff[4+4*n:]
	fresh := make([]byte, len(old))
	copy(fresh, old)
	for i, b := range values {
		at := binary.LittleEndian.Uint32(positions[4*i:])
		if int(at) >= len(fresh) {
			return nil, fmt.Errorf("its delta writes to byte %d of %d", at, len(fresh))
		}
		fresh[at] = b
	}
	return fresh, nil
}

// maxWindow is the window that a frame may announce, whatever little it holds. It is also how much a bomb can make us take.
const maxWindow = 1 << 27

// decompress returns what a blob holds, if that is at most so many bytes.
func decompress(blob []byte, most int) ([]byte, error) {
	room := uint64(max(most, maxWindow))
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(room), zstd.WithDecoderMaxWindow(room))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	out, err := z.DecodeAll(blob, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its delta does not decompress: %w", err)
	case len(out) > most:
		return nil, fmt.Errorf("its delta decompresses to %d bytes, want at most %d", len(out), most)
	}
	return out, nil
}

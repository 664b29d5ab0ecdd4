package weightsync

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"furlong/rl"
)

// A chunk travels as a frame: a head of fixed size, a header that says what the chunk is, and the bytes. The head has a digest over itself
// and the header, so nothing is believed, and no memory taken, before that is right.
const (
	chunkMagic  = "FWC1"
	endMagic    = "FWE1"
	answerMagic = "FWA1"
	frameHead   = 4 + 4 + 8 + 16 + 16
	maxHeader   = 4 + 8 + 2 + 1 + 1 + maxName + 255 + 8*maxAxes
	maxAnswer   = 1 << 20
)

// appendFrame appends a head and a header. The digest is the payload's.
func appendFrame(out []byte, magic string, header []byte, payload int, digest rl.Digest) []byte {
	at := len(out)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	out = binary.LittleEndian.AppendUint64(out, uint64(payload))
	out = append(out, digest[:]...)
	seal := Digest(append(out[at:len(out):len(out)], header...))
	out = append(out, seal[:]...)
	return append(out, header...)
}

// appendChunk appends all of a chunk's frame but the bytes.
func appendChunk(out []byte, c rl.Chunk) []byte {
	var h []byte
	h = binary.LittleEndian.AppendUint32(h, uint32(c.Version))
	h = binary.LittleEndian.AppendUint64(h, uint64(c.Offset))
	h = binary.LittleEndian.AppendUint16(h, uint16(len(c.Name)))
	h = append(h, byte(len(c.Type)), byte(len(c.Shape)))
	h = append(append(h, c.Name...), c.Type...)
	for _, s := range c.Shape {
		h = binary.LittleEndian.AppendUint64(h, uint64(s))
	}
	return appendFrame(out, chunkMagic, h, len(c.Data), c.Digest)
}

// A frame is a head and a header that have been checked.
type frame struct {
	magic   string
	header  []byte
	payload int
	digest  rl.Digest
}

// readFrame reads a head and a header. io.EOF means that there is none.
func readFrame(r io.Reader) (frame, error) {
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return frame{}, err
	}
	f := frame{magic: string(head[:4]), digest: rl.Digest(head[16:32])}
	header, payload := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint64(head[8:])
	switch {
	case f.magic != chunkMagic && f.magic != endMagic && f.magic != answerMagic:
		return f, fmt.Errorf("frame: begins with %q, want %s, %s or %s", f.magic, chunkMagic, endMagic, answerMagic)
	case header > maxHeader || payload > MaxChunk:
		return f, fmt.Errorf("frame: %d and %d bytes follow, want at most %d and %d", header, payload, maxHeader, MaxChunk)
	}
	f.payload, f.header = int(payload), make([]byte, header)
	if _, err := io.ReadFull(r, f.header); err != nil {
		return f, torn(err)
	}
	seal := rl.Digest(head[32:])
	if got := Digest(append(head[:32:32], f.header...)); got != seal {
		return f, fmt.Errorf("frame: digest of its head is %v, want %v", got, seal)
	}
	return f, nil
}

// torn makes an end in the middle of something an error of its own.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// chunk reads what the header says, without the bytes.
func (f frame) chunk() (rl.Chunk, error) {
	h := f.header
	const fixed = 4 + 8 + 2 + 1 + 1
	if len(h) < fixed {
		return rl.Chunk{}, fmt.Errorf("chunk: header has %d bytes, want at least %d", len(h), fixed)
	}
	c := rl.Chunk{Version: rl.Version(binary.LittleEndian.Uint32(h)), Digest: f.digest}
	offset, name, typ, axes := binary.LittleEndian.Uint64(h[4:]), int(binary.LittleEndian.Uint16(h[12:])), int(h[14]), int(h[15])
	rest := h[fixed:]
	if want := name + typ + 8*axes; len(rest) != want || axes > maxAxes || name == 0 || name > maxName {
		return c, fmt.Errorf("chunk: header has %d bytes behind its sizes, want %d for a name of %d, a format of %d, and %d axes", len(rest), want, name, typ, axes)
	}
	c.Name, c.Type, rest = string(rest[:name]), string(rest[name:name+typ]), rest[name+typ:]
	if !utf8.ValidString(c.Name) || offset > maxBytes {
		return c, fmt.Errorf("chunk: name is %.40q and offset %d, want UTF-8 and at most %d", c.Name, offset, maxBytes)
	}
	c.Offset, c.Shape = int(offset), make([]int, axes)
	for i := range c.Shape {
		s := binary.LittleEndian.Uint64(rest[8*i:])
		if s > maxBytes {
			return c, fmt.Errorf("%s: axis %d of a chunk's shape is %d, want at most %d", c.Name, i, s, maxBytes)
		}
		c.Shape[i] = int(s)
	}
	return c, nil
}

const readStep = 1 << 20 // memory is taken as bytes come, not as they are announced

// readPayload reads n bytes into buf, which it may replace by a larger one.
func readPayload(r io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		lo := len(buf)
		hi := min(n, lo+max(readStep, lo, cap(buf)-lo))
		if cap(buf) < hi {
			buf = append(make([]byte, 0, hi), buf...)
		}
		buf = buf[:hi]
		if _, err := io.ReadFull(r, buf[lo:]); err != nil {
			return buf, torn(err)
		}
	}
	return buf, nil
}

// readManifest reads an encoded manifest. Its content is not checked.
func readManifest(r io.Reader) ([]byte, error) {
	head := make([]byte, manifestHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("manifest: %w", torn(err))
	}
	n, err := manifestLength(head)
	if err != nil {
		return nil, err
	}
	body, err := readPayload(r, nil, n)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return append(head, body...), nil
}

// An answer is what the receiver says in the end.
type answer struct {
	Refused  string         `json:"refused"` // why; empty when the version is served
	Attested rl.Attestation `json:"attested"`
}

func appendAnswer(out []byte, a answer) ([]byte, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return append(appendFrame(out, answerMagic, nil, len(body), Digest(body)), body...), nil
}

func readAnswer(r io.Reader) (a answer, err error) {
	f, err := readFrame(r)
	if err != nil {
		return a, torn(err)
	}
	if f.magic != answerMagic || f.payload > maxAnswer {
		return a, fmt.Errorf("answer: begins with %s and %d bytes, want %s and at most %d", f.magic, f.payload, answerMagic, maxAnswer)
	}
	body, err := readPayload(r, nil, f.payload)
	if err != nil {
		return a, err
	}
	if got := Digest(body); got != f.digest {
		return a, fmt.Errorf("answer: digest is %v, want %v", got, f.digest)
	}
	return a, json.Unmarshal(body, &a)
}

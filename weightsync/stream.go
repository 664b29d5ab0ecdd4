package weightsync

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"furlong/rl"
)

// Send writes w to conn and returns the receiver's answer: what it serves now, or an error with the reason why it refused. When ctx ends, a
// conn that has deadlines is given up. After an error the connection is not to be used again.
func Send(ctx context.Context, conn io.ReadWriter, w rl.Weights) (rl.Attestation, error) {
	defer giveUp(ctx, conn)()
	answered := make(chan heard, 1)
	go func() {
		a, err := readAnswer(conn)
		if err != nil || a.Refused != "" {
			expire(conn) // so that a writer that nobody reads stops
		}
		answered <- heard{a, err}
	}()
	out := &wire{to: conn}
	wrote := write(ctx, out, w)
	if wrote != nil && !out.failed {
		expire(conn) // the receiver waits for more, and no answer will come
	}
	h := <-answered
	switch {
	case h.err == nil && h.a.Refused != "":
		return rl.Attestation{}, fmt.Errorf("weightsync: version %v was refused: %s", w.Version(), h.a.Refused)
	case wrote != nil:
		return rl.Attestation{}, fmt.Errorf("weightsync: version %v: %w", w.Version(), wrote)
	case h.err != nil:
		return rl.Attestation{}, fmt.Errorf("weightsync: version %v: the receiver left without an answer: %w", w.Version(), h.err)
	}
	return h.a.Attested, nil
}

// A wire remembers whether it was itself that failed.
type wire struct {
	to     io.Writer
	failed bool
}

func (w *wire) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.failed = w.failed || err != nil
	return n, err
}

// heard is what came of waiting for an answer.
type heard struct {
	a   answer
	err error
}

// expire makes reads and writes of a connection that has deadlines fail.
func expire(conn any) {
	if d, ok := conn.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(time.Unix(1, 0)) // it fails on a closed connection, which is as good
	}
}

// giveUp expires a connection when ctx ends. The function that it returns ends the watch.
func giveUp(ctx context.Context, conn any) (stop func() bool) {
	return context.AfterFunc(ctx, func() { expire(conn) })
}

// write writes manifest, chunks, and the end.
func write(ctx context.Context, to io.Writer, w rl.Weights) error {
	manifest, err := w.Manifest(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 1<<16)
	if _, err := out.Write(manifest); err != nil {
		return err
	}
	if err := writeChunks(ctx, out, w); err != nil {
		_ = out.Flush() // the receiver may say how far it came; what matters is err
		return err
	}
	if _, err := out.Write(appendFrame(nil, endMagic, nil, 0, Digest(manifest))); err != nil {
		return err
	}
	return out.Flush()
}

func writeChunks(ctx context.Context, out io.Writer, w rl.Weights) error {
	for bucket, err := range w.Buckets(ctx) {
		if err != nil {
			return err
		}
		if err := writeBucket(out, bucket); err != nil {
			return err
		}
	}
	return nil
}

func writeBucket(out io.Writer, bucket []rl.Chunk) error {
	var head []byte
	for _, c := range bucket {
		if len(c.Data) > MaxChunk || len(c.Name) > maxName || len(c.Type) > 255 || len(c.Shape) > maxAxes {
			return fmt.Errorf("%.100s: a chunk of %d bytes, want at most %d", c.Name, len(c.Data), MaxChunk)
		}
		head = appendChunk(head[:0], c)
		if _, err := out.Write(head); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if _, err := out.Write(c.Data); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// An Updater takes up weights, as an engine does. If it is an rl.Attester, the sender learns what it attests; if it is a Refuser, it counts also
// what it never saw.
type Updater interface {
	Update(ctx context.Context, w rl.Weights) error
}

// A Refuser counts versions that are refused before it sees them, since their manifest is damaged.
type Refuser interface{ Refuse() }

// Receive reads one version from conn, has u take it up, and answers the sender. Its error is the reason why the version was refused; u
// has then kept what it had. When ctx ends, a conn that has deadlines is given up.
func Receive(ctx context.Context, conn io.ReadWriter, u Updater) error {
	defer giveUp(ctx, conn)()
	in := bufio.NewReaderSize(conn, 1<<16)
	var a answer
	err := receive(ctx, in, u)
	if err != nil {
		a.Refused = err.Error()
	} else if at, ok := u.(rl.Attester); ok {
		a.Attested = at.Attestation()
	}
	out, encoded := appendAnswer(nil, a)
	if encoded != nil {
		return errors.Join(err, encoded)
	}
	_, wrote := conn.Write(out)
	return errors.Join(err, wrote)
}

func receive(ctx context.Context, in *bufio.Reader, u Updater) error {
	s, err := open(in)
	if err != nil {
		if r, ok := u.(Refuser); ok {
			r.Refuse()
		}
		return err
	}
	err = u.Update(ctx, s)
	if err == nil && !s.ended {
		return fmt.Errorf("version %v was taken up before its last chunk", s.v)
	}
	if err != nil {
		s.drain()
	}
	return err
}

// open reads the manifest of a version.
func open(in *bufio.Reader) (*streamed, error) {
	manifest, err := readManifest(in)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	return &streamed{in: in, v: m.Version, manifest: manifest}, nil
}

// streamed is a version that comes in frames.
type streamed struct {
	in       *bufio.Reader
	v        rl.Version
	manifest []byte
	buf      []byte
	ended    bool // the last frame was read
	broken   bool // what follows cannot be told apart any more
}

func (s *streamed) Version() rl.Version { return s.v }

func (s *streamed) Manifest(context.Context) ([]byte, error) { return s.manifest, nil }

// Buckets yields each chunk as a bucket of its own.
func (s *streamed) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		var one [1]rl.Chunk
		for ctx.Err() == nil {
			c, err := s.next()
			if err == nil && s.ended {
				return
			}
			one[0] = c
			if !yield(one[:], err) || err != nil {
				return
			}
		}
		yield(nil, ctx.Err())
	}
}

// next reads a frame.
func (s *streamed) next() (c rl.Chunk, err error) {
	s.broken = true
	f, err := readFrame(s.in)
	if err != nil {
		return c, fmt.Errorf("stream: the sender left: %w", torn(err))
	}
	if f.magic == endMagic {
		s.broken, s.ended = false, true
		if want := Digest(s.manifest); f.digest != want || f.payload != 0 {
			return c, fmt.Errorf("stream: it ends for manifest %v, want %v", f.digest, want)
		}
		return c, nil
	}
	if f.magic != chunkMagic {
		return c, fmt.Errorf("stream: frame is %s, want %s", f.magic, chunkMagic)
	}
	if c, err = f.chunk(); err != nil {
		return c, err
	}
	if s.buf, err = readPayload(s.in, s.buf, f.payload); err != nil {
		return c, fmt.Errorf("%s: the sender left within a chunk: %w", c.Name, err)
	}
	s.broken, c.Data = false, s.buf
	return c, nil
}

// drain reads what still comes of a version that was refused, so that the sender gets to the answer.
func (s *streamed) drain() {
	for !s.ended && !s.broken {
		if _, err := s.next(); err != nil {
			return
		}
	}
}

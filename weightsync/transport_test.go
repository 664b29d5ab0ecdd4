package weightsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/rl"
	"furlong/tensor"
)

// A taker is a receiver without an engine.
type taker struct {
	into []*tensor.Param
	v    rl.Version
}

func (k *taker) Update(ctx context.Context, w rl.Weights) error {
	_, err := Take(ctx, w, Flatten(k.into), Held{})
	if err == nil {
		k.v = w.Version()
	}
	return err
}

func (k *taker) Attestation() rl.Attestation {
	return rl.Attestation{Version: k.v, State: SumsOf(k.into).State()}
}

// pairs of connected ends.
var wires = map[string]func(t *testing.T) (a, b net.Conn){
	"pipe": func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() },
	"unix": func(t *testing.T) (net.Conn, net.Conn) { return dial(t, "unix", filepath.Join(t.TempDir(), "s")) },
	"tcp":  func(t *testing.T) (net.Conn, net.Conn) { return dial(t, "tcp", "127.0.0.1:0") },
}

func dial(t *testing.T, network, address string) (a, b net.Conn) {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() { c, _ := l.Accept(); accepted <- c }()
	if a, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return a, <-accepted
}

// pass sends w over a wire, and returns what each end says.
func pass(t *testing.T, wire func(*testing.T) (a, b net.Conn), w rl.Weights, k *taker) (a rl.Attestation, sent, received error) {
	t.Helper()
	from, to := wire(t)
	done := make(chan error, 1)
	go func() { err := Receive(t.Context(), to, k); done <- errors.Join(err, to.Close()) }()
	a, sent = Send(t.Context(), from, w)
	received = <-done
	if err := from.Close(); err != nil {
		t.Error(err)
	}
	return a, sent, received
}

func TestStream(t *testing.T) {
	want := params(1)
	for name, wire := range wires {
		for _, size := range bucketSizes {
			k := &taker{into: params(2)}
			a, sent, received := pass(t, wire, Of(5, Flatten(want), size), k)
			if sent != nil || received != nil {
				t.Fatalf("%s, %s: sender says %v, receiver %v", name, sizeName(size), sent, received)
			}
			sameBytes(t, name+", "+sizeName(size), k.into, want)
			if a.Version != 5 || a.State != SumsOf(want).State() {
				t.Errorf("%s: attested is %+v", name, a)
			}
		}
	}
}

// A refusal reaches the sender in words, over any wire and at any point.
func TestStreamRefused(t *testing.T) {
	for name, wire := range wires {
		for what, w := range map[string]rl.Weights{
			"a byte flips":    relay{Of(5, Flatten(params(1)), 1000), func(c []rl.Chunk) []rl.Chunk { c[20].Data[0]++; return c }, 1},
			"a chunk is lost": relay{Of(5, Flatten(params(1)), 1000), func(c []rl.Chunk) []rl.Chunk { return append(c[:20], c[21:]...) }, 1},
			"other tensors":   Of(5, Flatten(params(1)[:3]), 1000),
		} {
			k := &taker{into: params(2)}
			_, sent, received := pass(t, wire, w, k)
			if sent == nil || received == nil || !strings.Contains(sent.Error(), "version 5 was refused: "+received.Error()) || !strings.Contains(received.Error(), "model.") || k.v != 0 {
				t.Errorf("%s, %s: sender says %v, receiver %v, version %v", name, what, sent, received, k.v)
			}
		}
	}
}

// failing is a sender that breaks off after some buckets.
type failing struct {
	rl.Weights
	after int
}

var errDied = errors.New("the trainer died")

func (f failing) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		n := 0
		for b, err := range f.Weights.Buckets(ctx) {
			if n++; n > f.after {
				yield(nil, errDied)
				return
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func TestSenderDies(t *testing.T) {
	for name, wire := range wires {
		from, to := wire(t)
		k := &taker{into: params(2)}
		done := make(chan error, 1)
		go func() { done <- Receive(t.Context(), to, k) }()
		_, sent := Send(t.Context(), from, failing{Of(5, Flatten(params(1)), 1000), 4})
		if !errors.Is(sent, errDied) {
			t.Errorf("%s: sender says %v, want that it died", name, sent)
		}
		from.Close()
		received := <-done
		if received == nil || !strings.Contains(received.Error(), "stream: the sender left: unexpected EOF; ") || !strings.Contains(received.Error(), "tensors did not come whole: model.layers.0.self_attn.q_a_proj.weight (") || k.v != 0 {
			t.Errorf("%s: receiver says %v", name, received)
		}
		to.Close()
	}
}

func TestReceiverDies(t *testing.T) {
	for name, wire := range wires {
		from, to := wire(t)
		go func() { _, _ = io.CopyN(io.Discard, to, 3000); to.Close() }()
		if _, err := Send(t.Context(), from, Of(5, Flatten(params(1)), 1000)); err == nil {
			t.Errorf("%s: a version that nobody took was sent", name)
		}
		from.Close()
	}
}

// Both ends come back when their context ends.
func TestStreamEndsWithTheContext(t *testing.T) {
	for name, wire := range wires {
		from, to := wire(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- Receive(ctx, to, &taker{into: params(2)}) }()
		half := failing{Of(5, Flatten(params(1)), 1000), 2}
		go func() { _, err := Send(ctx, from, blocking{half, ctx}); done <- err }()
		cancel()
		for range 2 {
			if err := <-done; err == nil {
				t.Errorf("%s: no error after the end of the context", name)
			}
		}
		from.Close()
		to.Close()
	}
}

// blocking waits for a context before its error.
type blocking struct {
	failing
	ctx context.Context //nolint:containedctx // it is what the test is about
}

func (b blocking) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		for bucket, err := range b.failing.Buckets(ctx) {
			if err != nil {
				<-b.ctx.Done()
			}
			if !yield(bucket, err) {
				return
			}
		}
	}
}

// A stream that is cut or changed anywhere is refused, and nothing panics.
func TestStreamDamage(t *testing.T) {
	var whole strings.Builder
	if err := write(t.Context(), &whole, Of(5, Flatten(params(1)), 1000)); err != nil {
		t.Fatal(err)
	}
	all := whole.String()
	step := 37
	if testing.Short() {
		step = 997
	}
	for i := 0; i < len(all); i += step {
		bad := all[:i] + string(all[i]^4) + all[i+1:]
		for _, in := range []string{all[:i], bad} {
			k := &taker{into: params(2)}
			conn := struct {
				io.Reader
				io.Writer
			}{strings.NewReader(in), io.Discard}
			if err := Receive(t.Context(), conn, k); err == nil || k.v != 0 {
				t.Errorf("byte %d, %d of %d bytes: error is %v, version %v", i, len(in), len(all), err, k.v)
			}
		}
	}
}

func TestDirectory(t *testing.T) {
	want := params(1)
	for _, size := range bucketSizes {
		if size == 1 {
			continue // a file a byte
		}
		root := t.TempDir()
		path, err := WriteDir(t.Context(), root, Of(rl.NewVersion(2, 5), Flatten(want), size))
		if err != nil || filepath.Base(path) != "version-2.5" {
			t.Fatalf("%s: %s, %v", sizeName(size), path, err)
		}
		w, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := take(t, w)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, sizeName(size), got, want)
		if _, err := WriteDir(t.Context(), root, Of(rl.NewVersion(2, 5), Flatten(want), size)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a version was written twice: %v", err)
		}
	}
}

// A version from files goes on over a wire as it is.
func TestRelay(t *testing.T) {
	want := params(1)
	path, err := WriteDir(t.Context(), t.TempDir(), Of(5, Flatten(want), 5000))
	if err != nil {
		t.Fatal(err)
	}
	w, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	k := &taker{into: params(2)}
	if _, sent, received := pass(t, wires["unix"], w, k); sent != nil || received != nil {
		t.Fatal(sent, received)
	}
	sameBytes(t, "relayed", k.into, want)
}

// Damaged files are refused with the tensor's name where the damage leaves one.
func TestDirectoryDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(dir string) error
		want   string
	}{
		{"a bucket is missing", func(dir string) error { return os.Remove(filepath.Join(dir, bucketFile(3))) }, "tensors did not come whole: "},
		{"a bucket is cut", func(dir string) error { return os.Truncate(filepath.Join(dir, bucketFile(2)), 2000) }, "bucket-00002.fwc: model.layers.0.self_attn.q_a_proj.weight: the file ends after "},
		{"a bucket is empty", func(dir string) error { return os.Truncate(filepath.Join(dir, bucketFile(1)), 0) }, "tensors did not come whole: model."},
		{"a byte of a bucket", func(dir string) error { return poke(filepath.Join(dir, bucketFile(2)), -1) }, "model.layers.0.self_attn.q_a_proj.weight: digest of bytes "},
		{"a byte of a header", func(dir string) error { return poke(filepath.Join(dir, bucketFile(2)), 60) }, "bucket-00002.fwc: chunk 0: frame: digest of its head is "},
		{"a byte of the manifest", func(dir string) error { return poke(filepath.Join(dir, manifestFile), 500) }, "manifest: digest is "},
		{"the manifest is cut", func(dir string) error { return os.Truncate(filepath.Join(dir, manifestFile), 100) }, "manifest: 68 bytes follow, want "},
		{"no manifest", func(dir string) error { return os.Remove(filepath.Join(dir, manifestFile)) }, "no such file"},
		{"a folder for a bucket", func(dir string) error {
			f := filepath.Join(dir, bucketFile(0))
			return errors.Join(os.Remove(f), os.Mkdir(f, 0o755))
		}, "want a plain file"},
	} {
		path, err := WriteDir(t.Context(), t.TempDir(), Of(5, Flatten(params(1)), 4000))
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.damage(path); err != nil {
			t.Fatal(err)
		}
		w, err := OpenDir(path)
		if err == nil {
			_, err = take(t, w)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// poke changes a byte of a file, counted from the end if at is negative.
func poke(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 8
	return os.WriteFile(path, b, 0o644)
}

// What a sender that died left behind is not a version.
func TestDirectoryOfADeadSender(t *testing.T) {
	root := t.TempDir()
	if _, err := WriteDir(t.Context(), root, failing{Of(5, Flatten(params(1)), 4000), 2}); !errors.Is(err, errDied) {
		t.Errorf("error is %v, want that the sender died", err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := os.Mkdir(filepath.Join(root, ".version-6-123"), 0o755); err != nil { // of one that was killed
		t.Fatal(err)
	}
	if vs, err := Versions(root); err != nil || len(vs) != 0 {
		t.Errorf("versions are %v, %v, want none", vs, err)
	}
}

func TestVersions(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"version-2", "version-10", "version-1.11", "version-x", "version-1.2.3", "version-02", "else"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	vs, err := Versions(root)
	if got := fmt.Sprint(vs); err != nil || got != "[2 10 1.11]" {
		t.Errorf("versions are %s, %v", got, err)
	}
}

package weightsync

import (
	"context"
	"fmt"

	"furlong/rl"
)

// Take reads a version into tensors that nobody reads meanwhile, and checks all of it. It returns the session, which has ended well, or the reason
// why not with the tensor's name.
func Take(ctx context.Context, w rl.Weights, into []Tensor, held Held) (*Session, error) {
	return TakeWith(ctx, w, into, held, nil)
}

// TakeWith is [Take] with a follower, or nil.
func TakeWith(ctx context.Context, w rl.Weights, into []Tensor, held Held, f Follower) (*Session, error) {
	manifest, err := w.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	s, err := Begin(manifest, into, held)
	if err != nil {
		return nil, err
	}
	s.Follow(f)
	if got := s.man.Version; got != w.Version() {
		return nil, fmt.Errorf("manifest: version is %v, want %v", got, w.Version())
	}
	for bucket, err := range w.Buckets(ctx) {
		if err != nil {
			return nil, s.cutShort(err)
		}
		if err := s.Put(bucket); err != nil {
			return nil, err
		}
	}
	return s, s.End()
}

// cutShort says what was still to come when a sender broke off.
func (s *Session) cutShort(err error) error {
	if missing := s.complete(); missing != nil {
		return fmt.Errorf("%w; %w", err, missing)
	}
	return err
}

// Collect reads a version that is no delta into memory of its own, whatever it consists of, if that is at most so many bytes.
func Collect(ctx context.Context, w rl.Weights, most int) ([]rl.Tensor, error) {
	manifest, err := w.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	if n := m.Bytes(); n > most {
		return nil, fmt.Errorf("version %v: it has %d bytes, want at most %d", m.Version, n, most)
	}
	into := make([]Tensor, len(m.Tensors))
	out := make([]rl.Tensor, len(into))
	for i, e := range m.Tensors {
		into[i] = Tensor{e.Info, make([]byte, e.Bytes)}
		out[i] = rl.Tensor{Name: e.Name, Type: e.Type, Shape: e.Shape, Data: into[i].Mem}
	}
	_, err = Take(ctx, w, into, Held{})
	return out, err
}

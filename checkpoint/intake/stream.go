package intake

import (
	"fmt"
	"io"

	"furlong/checkpoint/safetensors"
)

// PutStream takes up a bucket that comes as a safetensors file. Its header is checked, by itself and against the model, before a byte of a tensor is
// read. Bytes go where they belong as they come: no more than one tensor, of those that have to be changed, is ever beside its place.
func (s *Session) PutStream(name string, r io.Reader) error {
	return s.guard(func() error {
		file, err := safetensors.NewStream(name, r)
		if err != nil {
			return err
		}
		slots, err := s.announce(file.Entries(), nil)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i, e := range file.Entries() {
			if err := s.receive(file, slots[i], e.Bytes()); err != nil {
				return err
			}
		}
		return file.End()
	})
}

// receive reads the stream's next tensor to where it goes.
func (s *Session) receive(file *safetensors.Stream, sl *slot, size int64) error {
	if sl == nil {
		return file.Skip()
	}
	v := s.value(sl)
	if to := sl.direct(v); to != nil {
		if err := file.Read(to); err != nil {
			return err
		}
		return s.settle(sl)
	}
	data := make([]byte, size) // as large as the model says
	if err := file.Read(data); err != nil {
		return err
	}
	return s.take(sl, data)
}

package checkpoint

import (
	"fmt"
	"slices"

	"furlong/tensor"
)

// A Memory is a checkpoint in memory: a Sink until it is closed, a Source throughout.
type Memory struct {
	names []string
	want  map[string]Info
	have  map[string]*tensor.Tensor
}

// NewMemory returns a Memory that wants the given tensors.
func NewMemory(entries ...Entry) *Memory {
	m := &Memory{want: map[string]Info{}, have: map[string]*tensor.Tensor{}}
	for _, e := range entries {
		m.names = append(m.names, e.Name)
		m.want[e.Name] = e.Info
	}
	return m
}

// Names implements [Source].
func (m *Memory) Names() []string { return slices.Clone(m.names) }

// Info implements [Source].
func (m *Memory) Info(name string) (Info, bool) {
	i, ok := m.want[name]
	return i, ok
}

// Tensor implements [Source].
func (m *Memory) Tensor(name string) (*tensor.Tensor, error) {
	if t := m.have[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("tensor %q: not in memory", name)
}

// Write implements [Sink]; it keeps a copy.
func (m *Memory) Write(name string, t *tensor.Tensor) error {
	want, ok := m.want[name]
	if !ok {
		return fmt.Errorf("tensor %q: not announced", name)
	}
	if err := CheckWrite(name, t, want); err != nil {
		return err
	}
	if m.have[name] != nil {
		return fmt.Errorf("tensor %q: written twice", name)
	}
	m.have[name] = t.Clone()
	return nil
}

// Close implements [Sink].
func (m *Memory) Close() error {
	var errs []error
	for _, name := range m.names {
		if m.have[name] == nil {
			errs = append(errs, fmt.Errorf("tensor %q: never written", name))
		}
	}
	return Join(errs)
}

// CheckWrite says what is wrong with writing t where a tensor like want was announced.
func CheckWrite(name string, t *tensor.Tensor, want Info) error {
	if got := InfoOf(t); !got.Equal(want) {
		return fmt.Errorf("tensor %q: is %v, want %v as announced", name, got, want)
	}
	if n := t.Type.Bytes(t.Len()); len(t.Mem) != n {
		return fmt.Errorf("tensor %q: has %d bytes, want %d", name, len(t.Mem), n)
	}
	return nil
}

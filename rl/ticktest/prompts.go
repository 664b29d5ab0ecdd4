package ticktest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"furlong/rl"
)

// Prompts hands out prompts 0, 1, 2, ...
type Prompts struct{ Count uint64 }

// Next returns the next n prompts.
func (c *Prompts) Next(n int) (out []*rl.Prompt, err error) {
	for range n {
		out = append(out, &rl.Prompt{ID: fmt.Sprint(c.Count), Group: int64(c.Count), Tokens: []int32{1, 2}})
		c.Count++
	}
	return out, nil
}

// State returns the count.
func (c *Prompts) State() ([]byte, error) { return binary.LittleEndian.AppendUint64(nil, c.Count), nil }

// Restore goes on at a count.
func (c *Prompts) Restore(b []byte) error {
	if len(b) != 8 {
		return errors.New("no state")
	}
	c.Count = binary.LittleEndian.Uint64(b)
	return nil
}

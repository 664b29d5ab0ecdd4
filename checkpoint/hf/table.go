package hf

import (
	"fmt"

	"furlong/dtype"
	"furlong/tensor"
)

// isTable reports whether a parameter is a routing table.
func isTable(t dtype.Type) bool { return t == dtype.I32 || t == dtype.I64 }

// entries calls f for each entry of a routing table, until it returns false.
func entries(t *tensor.Tensor, f func(i int, expert int64) bool) {
	if t.Type == dtype.I64 {
		for i, n := range t.I64() {
			if !f(i, n) {
				return
			}
		}
		return
	}
	for i, n := range t.I32() {
		if !f(i, int64(n)) {
			return
		}
	}
}

// CheckTable checks that a routing table names experts, and is more than the zeros that a model begins with.
func CheckTable(t *tensor.Tensor, experts int) error {
	if experts < 1 {
		return fmt.Errorf("routes to the experts of a model that is said to have %d", experts)
	}
	var err error
	zero := true
	entries(t, func(i int, expert int64) bool {
		if expert < 0 || expert >= int64(experts) {
			err = fmt.Errorf("entry %d is expert %d, want 0 to %d", i, expert, experts-1)
		}
		zero = zero && expert == 0
		return err == nil
	})
	if err == nil && zero && experts > 1 && t.Len() > 0 {
		err = fmt.Errorf("is all zero: every token would go to expert 0")
	}
	return err
}

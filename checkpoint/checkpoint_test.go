package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

func TestMemory(t *testing.T) {
	x := tensor.Of([]float32{1, 2}, 2)
	m := NewMemory(Entry{"x", InfoOf(x)}, Entry{"y", Info{dtype.F32, []int{1}}})
	if err := m.Write("x", x); err != nil {
		t.Fatal(err)
	}
	x.F32()[0] = 5 // the Memory has its own copy
	got, err := m.Tensor("x")
	if err != nil || got.F32()[0] != 1 {
		t.Errorf("Tensor(x) = %v, %v, want what was written", got, err)
	}
	if _, err := m.Tensor("y"); err == nil {
		t.Error("Tensor(y) is there before it was written")
	}
	if got := m.Names(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("Names() = %v", got)
	}
	if i, ok := m.Info("y"); !ok || i.String() != "F32[1]" || i.Bytes() != 4 {
		t.Errorf("Info(y) = %v, %v", i, ok)
	}
	if err := m.Write("y", tensor.Of([]float32{3}, 1)); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestJoinCountsTheRest(t *testing.T) {
	var errs []error
	for i := range maxErrors + 3 {
		errs = append(errs, fmt.Errorf("error %d.", i))
	}
	if got := Join(errs).Error(); !strings.Contains(got, "error 0.") || !strings.Contains(got, "and 3 more") || strings.Contains(got, "error 40.") {
		t.Errorf("Join of %d errors says %q", len(errs), got)
	}
	if err := Join(make([]error, 100)); err != nil {
		t.Errorf("Join of nothing is %v", err)
	}
}

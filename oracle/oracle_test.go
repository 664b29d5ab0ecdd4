package oracle

import (
	"testing"

	"furlong/kernels/ref"
)

func TestVectors(t *testing.T) {
	rep, err := Run(t.Context(), "testdata/vectors", Options{Fast: ref.New[float32](), Reference: ref.New[float64]()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rep.Checks {
		t.Log(c)
	}
	if !rep.OK {
		t.Error("vectors are missed")
	}
}

package oracle

import (
	"context"
	"fmt"
	"testing"

	"furlong/kernels/cpu"
	"furlong/kernels/ref"
)

func TestVectors(t *testing.T) {
	fast := cpu.New(0)
	defer fast.Close()
	for _, tt := range []struct {
		name string
		Options
	}{
		{"ref", Options{Fast: ref.New[float32](), Reference: exact}},
		{"cpu", Options{Fast: fast}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := Run(t.Context(), "testdata/vectors", tt.Options)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range rep.Checks {
				t.Log(c)
				if c.Name == "vectors left unread" && c.Worst != 0 || c.Count == 0 {
					t.Errorf("%s: %v vectors, %d comparisons", c.Name, c.Worst, c.Count)
				}
			}
			if !rep.OK {
				t.Error("vectors are missed")
			}
		})
	}
}

func ExampleRun() {
	rep, err := Run(context.Background(), "testdata/nothing", Options{Fast: ref.New[float32]()})
	fmt.Println(rep, err)
	// Output: <nil> open testdata/nothing/config.json: no such file or directory
}

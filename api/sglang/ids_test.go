package sglang

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The fast way reads what the slow one reads, or leaves it to that.
func FuzzPlainIDs(f *testing.F) {
	for _, s := range []string{"[1,2,3]", "[0]", "[ 7, 8]", "[01]", "[1,]", "[]", "[1 2]", "[-1]", "[1e3]", "[999999999,1234567890]", "[1]]", "[1],[2]", "[,1]", "[1,,2]", "[1 ]", "[00]", "[[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := plainIDs([]byte(s))
		if !ok {
			return
		}
		var want []int32
		if err := json.Unmarshal([]byte(s), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %v, want %v, %v", s, got, want, err)
		}
	})
}

func TestPlainIDs(t *testing.T) {
	long := "[" + strings.Repeat("12345,", 1000) + "0]"
	if got, ok := plainIDs([]byte(long)); !ok || len(got) != 1001 || got[999] != 12345 || got[1000] != 0 {
		t.Errorf("a long list is read as %d ids, %v", len(got), ok)
	}
}

func BenchmarkIDs(b *testing.B) {
	raw := []byte("[" + strings.Repeat("12345,", 1<<20) + "0]")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var ids IDs
		if err := ids.UnmarshalJSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}

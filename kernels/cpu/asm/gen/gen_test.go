package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted fails when the files of package asm are not what the generator writes.
func TestCommitted(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what gen writes; run go generate in package asm", name)
		}
	}
}

func TestRefuseWide(t *testing.T) {
	for _, tt := range []struct {
		line string
		ok   bool
	}{
		{"VADDPS Y0, Y1, Y15", true},
		{"VMOVSS X9, (AX)(R8*4)", true},
		{"VADDPS Y0, Y1, Y16", false},
		{"VMOVSS X31, (AX)", false},
		{"VADDPS Z0, Z1, Z2", false},
	} {
		if err := refuseWide([]byte(tt.line)); (err == nil) != tt.ok {
			t.Errorf("refuseWide(%q) = %v, want ok %v", tt.line, err, tt.ok)
		}
	}
}

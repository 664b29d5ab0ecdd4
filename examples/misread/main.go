// Command misread plants a real mistake in a copy of a checkpoint, for docs/parity.md to find.
//
// Some engines keep the position bias of a 4:1 compressor in an order of their own: its two halves one above the other, [8, K], where files have
// them side by side, [4, 2K]. They turn it once, at load. An online update then writes the natural order into memory that is read in the
// other one. The copy holds what such an engine computes with afterwards, in one layer.
//
//	go run ./examples/misread FROM TO LAYER
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/tensor"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: misread FROM TO LAYER")
		os.Exit(2)
	}
	if err := misread(os.Args[1], os.Args[2], "layers."+os.Args[3]+".attn.compressor.ape"); err != nil {
		fmt.Fprintln(os.Stderr, "misread:", err)
		os.Exit(1)
	}
}

// misread copies the checkpoint from to another folder, and turns one tensor on the way.
func misread(from, to, name string) error {
	src, err := safetensors.OpenDir(from)
	if err != nil {
		return err
	}
	defer src.Close()
	var entries []checkpoint.Entry
	for _, n := range src.Names() {
		info, _ := src.Info(n)
		entries = append(entries, checkpoint.Entry{Name: n, Info: info})
	}
	if info, ok := src.Info(name); !ok || len(info.Shape) != 2 || info.Shape[0] != 4 {
		return fmt.Errorf("%s: no tensor %s of four rows", from, name)
	}
	dst, err := safetensors.CreateDir(to, entries, nil, 1<<30)
	if err != nil {
		return err
	}
	for _, n := range src.Names() {
		t, err := src.Tensor(n)
		if err != nil {
			return err
		}
		if n == name {
			t = turned(t)
		}
		if err := dst.Write(n, t); err != nil {
			return err
		}
	}
	config, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err != nil {
		return err
	}
	if err := dst.WriteFile("config.json", config); err != nil {
		return err
	}
	return dst.Close()
}

// turned returns what is read of x [4, 2K] by who takes its memory for [8, K], first halves above second ones.
func turned(x *tensor.Tensor) *tensor.Tensor {
	y := x.Clone()
	k := x.Dim() / 2
	for row := range 8 {
		copy(y.F32()[row%4*2*k+row/4*k:][:k], x.F32()[row*k:][:k])
	}
	return y
}

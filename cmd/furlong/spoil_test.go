package main

import (
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// damages are the ways to spoil a tensor. What they return takes its place; nil takes it away.
var damages = map[string]func(x *tensor.Tensor) *tensor.Tensor{
	"drop": func(*tensor.Tensor) *tensor.Tensor { return nil },
	"zero": func(x *tensor.Tensor) *tensor.Tensor { return tensor.New(x.Type, x.Shape...) },
	"nan": func(x *tensor.Tensor) *tensor.Tensor {
		y := x.Clone()
		for i := range y.Mem[:x.Type.Bytes(1)] {
			y.Mem[i] = 0xff // in any float format
		}
		return y
	},
	"huge": func(x *tensor.Tensor) *tensor.Tensor {
		y := x.Clone()
		for i := range y.Mem {
			y.Mem[i] = 0x7f // about the largest finite number, in F32 and in BF16
		}
		return y
	},
	"shape": func(x *tensor.Tensor) *tensor.Tensor {
		shape := append([]int{x.Shape[0] + 1}, x.Shape[1:]...)
		return tensor.New(x.Type, shape...)
	},
	"type": func(x *tensor.Tensor) *tensor.Tensor { return tensor.New(dtype.I32, x.Shape...) },
	"bit": func(x *tensor.Tensor) *tensor.Tensor {
		y := x.Clone()
		y.Mem[len(y.Mem)-1] ^= 1 // the last byte holds sign and exponent: the value is off by a factor
		return y
	},
}

// spoil damages the weights in dir: "cut" cuts the file in half, anything else is one of damages, done to the tensor of a name.
func spoil(how, dir, name string) error {
	path := filepath.Join(dir, "model.safetensors")
	if how == "cut" {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	damage := damages[how]
	if damage == nil {
		return fmt.Errorf("spoil: no way %q", how)
	}
	all, err := readTensors(path)
	if err != nil {
		return err
	}
	for i, e := range all {
		if e.name == name {
			all[i].x = damage(e.x)
			return writeTensors(path, all)
		}
	}
	return fmt.Errorf("%s: no tensor %q", path, name)
}

// A named tensor is one in a file.
type named struct {
	name string
	x    *tensor.Tensor
}

func readTensors(path string) ([]named, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []named
	for _, n := range f.Names() {
		x, err := f.Tensor(n)
		if err != nil {
			return nil, err
		}
		all = append(all, named{n, x.Clone()})
	}
	return all, nil
}

// writeTensors writes those that are there.
func writeTensors(path string, all []named) error {
	var entries []checkpoint.Entry
	for _, e := range all {
		if e.x != nil {
			entries = append(entries, checkpoint.Entry{Name: e.name, Info: checkpoint.InfoOf(e.x)})
		}
	}
	w, err := safetensors.Create(path, entries, nil)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.x == nil {
			continue
		}
		if err := w.Write(e.name, e.x); err != nil {
			return err
		}
	}
	return w.Close()
}

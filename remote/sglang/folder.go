package sglang

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"furlong/api/sglang"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/tensor"
	"furlong/weightsync"
)

// keptFolders are how many versions stay in the folder: the newest, and the one before, which a server may still be reading.
const keptFolders = 2

// folder writes the version as a checkpoint, if any server gets weights that way, and returns where. It appears whole or not at all. Of the folders that this engine has written the
// last two stay.
func (e *Engine) folder(p *parcel) (string, error) {
	wanted := false
	for _, s := range e.servers {
		wanted = wanted || e.transport(s) == disk
	}
	if !wanted {
		return "", nil
	}
	root, err := filepath.Abs(e.cfg.Dir)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, fmt.Sprintf("weight_v%010s-%s", p.label, e.name))
	if err := os.RemoveAll(dir); err != nil { // of an attempt before
		return "", err
	}
	params, err := parameters(p.tensors)
	if err != nil {
		return "", err
	}
	if err := hf.Save(dir, params, hf.Ref, e.opt.ConfigJSON, hf.SaveOptions{Experts: e.opt.Experts, ShardBytes: 4 << 30}); err != nil {
		return "", fmt.Errorf("--update-weight-dir: %w", err)
	}
	return dir, e.tidy(dir)
}

// tidy notes a folder and removes those that are too old.
func (e *Engine) tidy(dir string) error {
	if n := len(e.folders); n == 0 || e.folders[n-1] != dir {
		e.folders = append(e.folders, dir)
	}
	for len(e.folders) > keptFolders {
		if err := os.RemoveAll(e.folders[0]); err != nil {
			return fmt.Errorf("--update-weight-dir: %w", err)
		}
		e.folders = e.folders[1:]
	}
	return nil
}

// load has a server read the checkpoint of a version.
func (e *Engine) load(ctx context.Context, s *server, p *parcel) error {
	no := false
	return e.outcome(ctx, s, "/update_weights_from_disk", sglang.UpdateDisk{ModelPath: p.folder, Version: &p.label, FlushCache: &no})
}

// parameters returns what travelled as parameters again: codes and their scales are one.
func parameters(ts []weightsync.Tensor) ([]*tensor.Param, error) {
	values := map[string]*tensor.Tensor{}
	scales := map[string]bool{}
	for _, t := range ts {
		of, ok := dtype.Parse(t.Type)
		if !ok {
			return nil, fmt.Errorf("%s: format is %q, which no checkpoint has", t.Name, t.Type)
		}
		values[t.Name] = &tensor.Tensor{Type: of, Shape: t.Shape, Mem: t.Mem}
		if t.Scale != "" {
			scales[t.Scale] = true
		}
	}
	var out []*tensor.Param
	for _, t := range ts {
		if scales[t.Name] {
			continue
		}
		v := values[t.Name]
		if t.Scale != "" {
			v.Scale, v.Fused = values[t.Scale], t.Fused
			copy(v.Block[:], t.Block)
		}
		out = append(out, &tensor.Param{Name: t.Name, Value: v, Rounds: t.Rounds})
	}
	return out, nil
}

package oracle

import (
	"errors"
	"io/fs"
	"path/filepath"

	"furlong/checkpoint/safetensors"
	"furlong/quant"
)

const quantFile = "quant.safetensors"

// codecs holds the quantised number formats to quant.safetensors, byte for byte. A directory may be of a model alone; the report says so.
func codecs(v *vectors, rep *Report) (err error) {
	f, err := safetensors.Open(filepath.Join(v.dir, quantFile))
	if errors.Is(err, fs.ErrNotExist) {
		rep.note("quantised bytes", 0, "no "+quantFile)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	checks, err := quant.Verify(f.Tensor)
	if err != nil {
		return err
	}
	for _, c := range checks {
		rep.mustEqual("quantised bytes", c.Wrong, c.Name)
	}
	return nil
}

package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint/safetensors"
)

// format names how the critic holds its matrices.
func (c *critic) format() string { return c.Head().Value.Type.String() }

// loadCritic restores the critic. A state without one for an engine that has one, or the other way round, is another algorithm's, and refused.
func (e *Engine) loadCritic(dir string) error {
	_, err := os.Stat(dir)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case there && e.critic == nil:
		return fmt.Errorf("%s: the state has a critic, and --advantage-estimator %s has none: a run goes on with the estimator it began with", dir, e.cfg.Loss.Estimator)
	case !there && e.critic != nil:
		return fmt.Errorf("%s: the state has no critic, and --advantage-estimator %s needs one: a run goes on with the estimator it began with", dir, e.cfg.Loss.Estimator)
	case !there:
		return nil
	}
	return e.critic.load(dir, e.files, e.whole())
}

func (c *critic) load(dir string, files Files, l *lane) (err error) {
	path := filepath.Join(dir, optimFile)
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	steps, err := checkOptimizer(f, c.opt, c.format())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := LoadModel(c.Model, filepath.Join(dir, modelDir), files); err != nil {
		return err
	}
	own, err := f.Tensor(valueHead + parts[0].suffix) // no model file has it
	if err != nil {
		return err
	}
	copy(c.head.Value.F32(), own.F32())
	if err := fillOptimizer(f, c.opt); err != nil {
		return err
	}
	c.opt.SetSteps(steps)
	c.prepare(l)
	return nil
}

package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// Options say what the destination is to be.
type Options struct {
	Recipe     quant.Recipe // formats of weights
	Scheme     hf.Scheme    // of names; 0: the source's
	Layers     int          // of the model; tensors of later ones are set aside
	Experts    int          // routed experts of a layer
	ShardBytes int64        // largest file, if tensors allow; 0: one file

	// Params are the model's, by names of memory: the source must have their tensors, in their shapes, and no others. nil: it is taken as it is.
	Params []*tensor.Param

	// KeepNotFinite keeps numbers that are NaN or infinite, and counts them; without it Run ends where it meets the first.
	KeepNotFinite bool

	// Progress is told how much of the destination there is, from the goroutine that called Run; nil: nobody is.
	Progress func(done, total int64)
}

// ErrNotFinite is what Run fails with where numbers of the source are NaN or infinite; with [Options.KeepNotFinite] it goes on.
var ErrNotFinite = errors.New("has numbers that are NaN or infinite")

// ErrSpoils is what Run fails with where such numbers would have to be packed: one of them spoils all that shares its block.
var ErrSpoils = errors.New("has numbers that are NaN or infinite, which would spoil what shares their blocks")

// Run converts the checkpoint in the directory from to a new directory to, which must not exist or be empty. If an earlier Run of the
// same conversion was interrupted it goes on with what that left. When ctx ends it stops after the tensor at hand.
func Run(ctx context.Context, from, to string, opt Options) (r *Report, err error) {
	if err := apart(from, to); err != nil {
		return nil, err
	}
	src, err := safetensors.OpenDir(from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	p, err := newPlan(src, from, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	c := &converter{plan: p, src: src, from: from, to: filepath.Clean(to), report: p.report(), seen: map[string]Tensor{}}
	return c.run(ctx)
}

// A converter carries a plan out.
type converter struct {
	*plan
	src      checkpoint.Source
	from, to string
	out      *safetensors.DirWriter
	report   *Report
	seen     map[string]Tensor // those of the source that were read
	kept     map[string]string // SHA-256 of what an earlier attempt left
	spare    []byte            // where units are made, one after the other
}

func (c *converter) run(ctx context.Context) (r *Report, err error) {
	sum, err := c.identity(c.from)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(c.to, sum)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close(err == nil)) }()
	c.report.Resumed = len(j.done) > 0
	if c.out, err = safetensors.ContinueDir(c.to, c.entries, map[string]string{"format": "pt"}, c.opt.ShardBytes); err != nil {
		return nil, errors.Join(err, j.forget())
	}
	defer c.out.Suspend() // does nothing after Close
	if c.kept, err = sums(ctx, safetensors.Stage(c.to)); err != nil {
		return nil, err
	}
	if err := c.files(); err != nil {
		return nil, err
	}
	if err := c.tensors(ctx, j); err != nil {
		return nil, err
	}
	if err := c.unread(); err != nil {
		return nil, err
	}
	if err := c.out.Close(); err != nil {
		return nil, err
	}
	c.report.close()
	return c.report, nil
}

// files writes config.json and copies what else lies beside the tensors.
func (c *converter) files() error {
	if err := c.out.WriteFile("config.json", c.config); err != nil {
		return err
	}
	list, err := os.ReadDir(c.from)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.Name() == "config.json", isTensors(e.Name()):
			continue
		case !c.small(e):
			c.report.LeftOut = append(c.report.LeftOut, e.Name())
			continue
		}
		data, err := os.ReadFile(filepath.Join(c.from, e.Name()))
		if err == nil {
			err = c.out.WriteFile(e.Name(), data)
		}
		if err != nil {
			return err
		}
		c.report.Copied = append(c.report.Copied, e.Name())
	}
	return nil
}

// smallBytes is how large a file may be that is copied: tokenizers are smaller, other forms of the weights larger.
const smallBytes = 64 << 20

func (c *converter) small(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() <= smallBytes
}

// tensors writes every unit that is not there yet.
func (c *converter) tensors(ctx context.Context, j *journal) error {
	var done int64
	for _, u := range c.units {
		rec, ok := j.done[u.name]
		if !ok || !c.has(u) {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if rec, err = c.write(u, j); err != nil {
				return err
			}
		}
		if err := errors.Join(c.held(rec), c.finite(rec)); err != nil {
			return err
		}
		c.report.add(rec)
		for _, e := range u.entries {
			done += e.Bytes()
		}
		if c.opt.Progress != nil {
			c.opt.Progress(done, c.total)
		}
	}
	return nil
}

// finite refuses a unit with numbers that are not finite, unless they are to be kept.
func (c *converter) finite(rec record) error {
	var errs []error
	for _, odd := range rec.NotFinite {
		if !c.opt.KeepNotFinite {
			errs = append(errs, odd.refused(c.from, ErrNotFinite))
		}
	}
	return checkpoint.Join(errs)
}

func (c *converter) has(u unit) bool {
	for _, e := range u.entries {
		if !c.out.Has(e.Name) {
			return false
		}
	}
	return true
}

// write makes a unit and writes what of it is not there yet. The journal has it first: a shard that is whole is accounted for.
func (c *converter) write(u unit, j *journal) (record, error) {
	t, rec, err := c.make(u)
	if err != nil {
		return record{}, err
	}
	stored := hf.Stored(c.opt.Scheme, u.name, t)
	for _, s := range stored {
		rec.Wrote = append(rec.Wrote, describe(s.Name, s.Tensor))
	}
	if err := j.append(rec); err != nil {
		return record{}, err
	}
	for _, s := range stored {
		if c.out.Has(s.Name) {
			continue
		}
		if err := c.out.Write(s.Name, s.Tensor); err != nil {
			return record{}, err
		}
	}
	return rec, nil
}

// make returns the tensor of a unit: the source's own memory where nothing changes, else the room that the unit before it had.
func (c *converter) make(u unit) (*tensor.Tensor, record, error) {
	rec := record{Unit: u.name}
	var dst *tensor.Tensor
	for _, p := range u.parts {
		src, err := c.read(p, &rec)
		if err != nil {
			return nil, rec, err
		}
		as := p.to == nil && u.is(src)
		if err := c.count(&rec, p, src, !as && u.format != (quant.Format{})); err != nil {
			return nil, rec, err
		}
		if as {
			rec.Way, rec.Loss = hf.Copied.String(), quant.Loss{Numbers: src.Len()}
			return src, rec, nil
		}
		if dst == nil {
			dst = u.in(c.room(u))
		}
		piece := dst
		if p.to != nil {
			piece = p.to.Of(dst)
		}
		way, loss := hf.Convert(piece, src)
		if math.IsInf(loss.Max, 1) {
			return nil, rec, fmt.Errorf("%s: tensor %q: has a number too large for %v", c.from, p.weight.Name, u.plain)
		}
		rec.Way = way.String()
		rec.Loss.Add(loss)
	}
	return dst, rec, nil
}

// room returns zeros for the numbers or codes of a unit. The unit before it is written by now, so that no more than the largest takes up memory.
func (c *converter) room(u unit) []byte {
	n := u.bytes()
	if n > len(c.spare) {
		c.spare = nil // may go before more is asked for
		c.spare = tensor.New(dtype.U8, n).Mem
	}
	clear(c.spare[:n])
	return c.spare[:n]
}

// count notes how many numbers of a part are not finite. It refuses those that are to be packed.
func (c *converter) count(rec *record, p part, src *tensor.Tensor, packed bool) error {
	odd := NotFinite{p.weight.Name, quant.NotFinite(src)}
	switch {
	case odd.Count == 0:
		return nil
	case packed:
		return odd.refused(c.from, ErrSpoils)
	}
	rec.NotFinite = append(rec.NotFinite, odd)
	return nil
}

// read returns a part's numbers, and notes that its tensors were read.
func (c *converter) read(p part, rec *record) (*tensor.Tensor, error) {
	t, err := p.weight.Read(c.src)
	if err != nil {
		return nil, err
	}
	if err := c.note(rec, p.weight.Name, p.weight.Scale); err != nil {
		return nil, err
	}
	if p.from != nil {
		t = p.from.Of(t)
	}
	return t, nil
}

// note adds tensors of the source to a record, with digests, unless a unit before had them.
func (c *converter) note(rec *record, names ...string) error {
	for _, name := range names {
		if _, ok := c.seen[name]; ok || name == "" {
			continue
		}
		t, err := c.src.Tensor(name)
		if err != nil {
			return err
		}
		c.seen[name] = describe(name, t)
		rec.Read = append(rec.Read, c.seen[name])
	}
	return nil
}

// unread holds what was read, now or before an interruption, against what there is.
func (c *converter) unread() error {
	had := map[string]bool{}
	for _, t := range c.report.Read {
		had[t.Name] = true
	}
	for _, name := range c.report.Aside {
		had[name] = true
	}
	var errs []error
	for _, name := range c.src.Names() {
		if !had[name] {
			errs = append(errs, fmt.Errorf("%s: tensor %q: was not read", c.from, name))
		}
	}
	return checkpoint.Join(errs)
}

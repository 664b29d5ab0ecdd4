package sglang

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"furlong/api/sglang"
)

// Found is what a server has told of itself when the engine came to it.
type Found struct {
	URL     string
	Version string // of the server program
	Model   string // path
	Label   string // of the weights
	Process string // the process that answered; "" if it does not say
	Context int    // tokens, 0 if it does not say
	Running int    // most requests at a time, 0 if it does not say
	Experts bool   // it can tell which experts tokens went to
	Seeds   bool   // it says that seeds decide what is drawn

	Session bool // begin_weight_update
	Stream  bool // update_weights_from_stream
	Loads   bool // v1/loads
	Starts  bool // it can be told where in input_ids a response began
	Checker bool // weights_checker
	Attests bool // it says digests of the weights that it serves

	Formats Formats
}

// Formats are how an engine holds weights and attention state, as the flags of `furlong serve` spell it; "" where a server does not say.
type Formats struct {
	Weights string `json:"rollout_format"`
	State   string `json:"kv_cache_dtype"`
}

// look asks a server what it is and what it can. A server that does not know a path of an older generation is asked for that.
func (w *wire) look(ctx context.Context, url string) (Found, error) {
	f := Found{URL: url}
	var about sglang.ServerInfo
	if err := w.either(ctx, url, "/server_info", "/get_server_info", &about); err != nil {
		return f, err
	}
	var model sglang.ModelInfo
	if err := w.either(ctx, url, "/model_info", "/get_model_info", &model); err != nil {
		return f, err
	}
	if err := w.either(ctx, url, "/server_info", "/get_server_info", &f.Formats); err != nil {
		return f, err
	}
	f.Attests = model.Attested != nil
	f.Version, f.Model, f.Label = about.Version, model.ModelPath, model.WeightVersion
	f.Context, f.Running, f.Experts, f.Seeds = about.ContextLength, about.MaxRunningRequests, about.ReturnRoutedExperts, about.Deterministic
	f.Starts = about.ResponseStart
	for path, has := range map[string]*bool{
		"/begin_weight_update": &f.Session, "/update_weights_from_stream": &f.Stream, "/weights_checker": &f.Checker, "/v1/loads": &f.Loads,
	} {
		var err error
		if *has, f.Process, err = w.knows(ctx, url, path); err != nil {
			return f, err
		}
	}
	return f, nil
}

// either reads what a path tells, or where there is none its older name.
func (w *wire) either(ctx context.Context, url, path, older string, to any) error {
	err := w.get(ctx, url, path, to)
	if status(err) == http.StatusNotFound {
		err = w.get(ctx, url, older, to)
	}
	return err
}

// knows asks whether a server has a path, by a method that changes nothing there: 405 means that it has it for others. It returns also which process answers.
func (w *wire) knows(ctx context.Context, url, path string) (has bool, process string, err error) {
	_, process, err = w.send(ctx, http.MethodOptions, url, path, "", nil, 0)
	switch s := status(err); {
	case err == nil, s == http.StatusMethodNotAllowed, s == http.StatusBadRequest:
		return true, process, nil
	case s == http.StatusNotFound:
		return false, process, nil
	case s != 0:
		return false, process, fmt.Errorf("is %s there: %w", path, err)
	}
	return false, process, err
}

// A notice says that somebody is waited for: not at once, since most are there soon, and not too often.
type notice struct {
	first, every time.Duration
	say          func(why error, left time.Duration) // nil: nobody is told
}

// due reports whether it is to be said now; said is the zero time where it was not yet.
func (n notice) due(began, said, now time.Time) bool {
	if said.IsZero() {
		return now.Sub(began) >= n.first
	}
	return now.Sub(said) >= n.every
}

// await looks at a server until it answers and has generated a token, or the patience of the settings is over.
func (w *wire) await(ctx context.Context, url string, wait time.Duration, n notice) (Found, error) {
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	began, said := time.Now(), time.Time{}
	for {
		f, err := w.look(short, url)
		if err == nil {
			err = w.get(short, url, "/health_generate", nil)
		}
		if err == nil {
			return f, nil
		}
		if s := status(err); s != 0 && s < 500 && s != http.StatusNotFound {
			return f, fmt.Errorf("%s: %w", url, err) // it is there and says no
		}
		if now := time.Now(); n.say != nil && n.due(began, said, now) && short.Err() == nil {
			said = now
			n.say(err, wait-now.Sub(began))
		}
		if sleep(short, startupPause) != nil {
			return f, fmt.Errorf("%s: not ready after %v: %w", url, waited(wait, time.Since(began)), err)
		}
	}
}

// waited returns how long somebody waited who would have waited so long: less, if he was told to stop.
func waited(patience, spent time.Duration) time.Duration {
	if spent >= patience {
		return patience
	}
	return spent.Round(time.Second)
}

// startupPause is the time between two looks at a server that is not ready.
const startupPause = 200 * time.Millisecond

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package sglang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// A Visitor asks one server for samples under the weights that it holds. It pushes none, draws nothing anew, and changes nothing at the server: who compares
// engines wants the first answer, and an error where there is none. Its methods may be called from several goroutines at once.
type Visitor struct {
	wire  *wire
	found Found
	info  map[string]json.RawMessage
	name  string
	shape *rl.Routes
	begun chan int // holds the number of requests sent
}

// visited is what a visitor calls the weights that the server held when it came.
const visited rl.Version = 1

// Visit gets to know the server of cfg, of which there must be one. What is said of weights and retries in cfg is not looked at. routes, of no tokens, say
// which model's experts it is asked for; nil where nobody asks.
func Visit(ctx context.Context, cfg Config, routes *rl.Routes) (*Visitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	urls := cfg.Servers()
	if len(urls) != 1 {
		return nil, fmt.Errorf("%d servers are named, want one", len(urls))
	}
	w, err := newWire(cfg)
	if err != nil {
		return nil, err
	}
	v := &Visitor{wire: w, name: nonce(), shape: routes, begun: make(chan int, 1)}
	v.begun <- 0
	if v.found, err = w.await(ctx, urls[0], cfg.Wait, notice{}); err == nil {
		err = w.either(ctx, urls[0], "/server_info", "/get_server_info", &v.info)
	}
	if err != nil {
		v.Close()
		return nil, fmt.Errorf("%s: %w", urls[0], err)
	}
	return v, nil
}

// Found returns what the server told of itself.
func (v *Visitor) Found() Found { return v.found }

// Told returns what /server_info says under a name as a text, "" where it says nothing, or no text.
func (v *Visitor) Told(name string) (text string) {
	if json.Unmarshal(v.info[name], &text) != nil {
		return ""
	}
	return text
}

// Attested returns what the server attests of its weights, nil where it attests nothing.
func (v *Visitor) Attested(ctx context.Context) (*sglang.Attested, error) {
	var m sglang.ModelInfo
	err := v.wire.either(ctx, v.found.URL, "/model_info", "/get_model_info", &m)
	return m.Attested, err
}

// Sample draws, or scores, one sample. All of its tokens must be of the weights that the server held at first. A server that has no room is asked again for a
// while.
func (v *Visitor) Sample(ctx context.Context, r rl.Request) (*rl.Sample, error) {
	n := <-v.begun + 1
	v.begun <- n
	x := &reading{
		r: r, rid: fmt.Sprintf("%s-%d-%d", v.name, r.ID, n), a: &sglang.Answer{},
		sent: visited, given: map[string]rl.Version{v.found.Label: visited}, shape: v.shape,
	}
	if err := r.CheckBegun(); err != nil {
		return nil, fmt.Errorf("request %d: %w", r.ID, err)
	}
	if s := over(r); s != nil {
		return s, nil
	}
	if r.Report.Experts && v.shape == nil {
		return nil, fmt.Errorf("request %d is to tell its experts, and the visitor was not told of which model", r.ID)
	}
	if err := v.patiently(ctx, x); err != nil {
		return nil, err
	}
	s, err := x.sample()
	if errors.Is(err, errStale) {
		err = fmt.Errorf("its weights changed on the way, from %q on: %w", v.found.Label, err)
	}
	return s, err
}

// patiently sends a request until the server has room for it.
func (v *Visitor) patiently(ctx context.Context, x *reading) error {
	for delay := firstDelay; ; delay *= 2 {
		err := v.wire.post(ctx, v.found.URL, "/generate", ask(x.r, x.rid, "", v.found.Starts), x.a)
		if !full(err) || delay > mostDelay {
			return err
		}
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// Tokenize returns the ids of a text, without any token that the server would put before it.
func (v *Visitor) Tokenize(ctx context.Context, text string) ([]int32, error) {
	var out sglang.Tokenized
	in := sglang.Tokenize{Prompt: sglang.One(text), AddSpecialTokens: new(false)}
	if err := v.wire.post(ctx, v.found.URL, "/tokenize", in, &out); err != nil {
		return nil, err
	}
	return out.Tokens.At(0), nil
}

// Flush empties the server's prefix cache, once nothing that runs holds it up.
func (v *Visitor) Flush(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := v.wire.get(short, v.found.URL, "/flush_cache", nil)
		if s := status(err); s == 0 || s == 401 || s == 404 {
			return err
		}
		if sleep(short, firstDelay) != nil {
			return err
		}
	}
}

// Close leaves the server's connections. Nothing may be under way.
func (v *Visitor) Close() { v.wire.http.CloseIdleConnections() }

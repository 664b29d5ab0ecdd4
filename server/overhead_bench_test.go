package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/rollout"
)

// What the comparison draws: each client asks for one sample at a time.
const (
	clients   = 64
	perClient = 4
	promptLen = 64
	newTokens = 48
)

// BenchmarkHTTP draws the same samples in the process and over HTTP, in turns, by 64 clients of the tiny model of bench/models, and watches /health meanwhile. It
// reports both rates in tokens a second, their ratio, and what the slowest hundredth of the answers of /health took.
func BenchmarkHTTP(b *testing.B) {
	e := benchEngine(b)
	u := serveOn(b, e, 4096, func(_ *Config, p *Parts) { p.Model.Vocab = e.vocab })
	u.client.Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	probe := watchHealth(u)
	var inside, outside time.Duration
	n := 0
	for b.Loop() {
		inside += round(b, n, e.draw)
		outside += round(b, n, u.draw)
		n++
	}
	tokens := float64(n * clients * perClient * newTokens)
	b.ReportMetric(tokens/inside.Seconds(), "inside-tokens/s")
	b.ReportMetric(tokens/outside.Seconds(), "http-tokens/s")
	b.ReportMetric(inside.Seconds()/outside.Seconds(), "ratio")
	b.ReportMetric(float64(probe())/1e6, "health-p99-ms")
}

// A benchedEngine knows how many tokens there are.
type benchedEngine struct {
	*rollout.Engine
	vocab int
}

func benchEngine(b *testing.B) benchedEngine {
	raw, err := os.ReadFile("../bench/models/tiny.json")
	if err != nil {
		b.Fatal(err)
	}
	shape, err := dsv4.ReadConfig(raw)
	if err != nil {
		b.Fatal(err)
	}
	k := cpu.New(0)
	b.Cleanup(k.Close)
	m := dsv4.New(shape, dtype.F32)
	m.Init(1)
	e, err := rollout.New(rollout.Default(), dsv4.New(shape, dtype.F32), k)
	if err != nil {
		b.Fatal(err)
	}
	background(b, e.Run)
	if err := e.Update(b.Context(), weights(1, m)); err != nil {
		b.Fatal(err)
	}
	return benchedEngine{e, shape.Vocab}
}

// round lets all clients draw, and returns how long that took.
func round(b *testing.B, n int, draw func(ctx context.Context, id int64, prompt []int32) error) time.Duration {
	begin := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for k := range perClient {
				id := int64((n*clients+c)*perClient + k)
				if err := draw(b.Context(), 1<<40+id, promptOf(id)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// promptOf returns a prompt that no other has.
func promptOf(id int64) []int32 {
	out := make([]int32, promptLen)
	for i := range out {
		out[i] = int32(rl.MixSeed(0, uint64(id), uint64(i)) % 256)
	}
	return out
}

func (e benchedEngine) draw(ctx context.Context, id int64, prompt []int32) error {
	s := rl.DefaultSampling()
	s.MaxTokens, s.Seed = newTokens, uint64(id)
	for _, err := range e.Generate(ctx, []rl.Request{{ID: -id, Prompt: &rl.Prompt{Tokens: prompt}, Sampling: s}}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// draw asks as trainers do: ids in, ids and logprobs out.
func (u *site) draw(ctx context.Context, id int64, prompt []int32) error {
	ids, _ := json.Marshal(prompt)
	body := fmt.Appendf(nil, `{"input_ids":%s,"return_logprob":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true,"sampling_seed":%d}}`, ids, newTokens, id)
	req, err := http.NewRequestWithContext(ctx, "POST", u.url+"/generate", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", resp.StatusCode, raw)
	}
	return err
}

// watchHealth asks for /health each 5 ms until the function that it returns is called, which returns the time of the 99th of a hundred.
func watchHealth(u *site) func() time.Duration {
	done, times := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var all []time.Duration
		for {
			select {
			case <-done:
				times <- all
				return
			case <-time.After(5 * time.Millisecond):
			}
			begin := time.Now()
			if resp, err := u.client.Get(u.url + "/health"); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				all = append(all, time.Since(begin))
			}
		}
	}()
	return func() time.Duration {
		close(done)
		all := <-times
		slices.Sort(all)
		return all[len(all)*99/100]
	}
}

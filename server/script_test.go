package server

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"furlong/rl"
	"furlong/rollout"
	"furlong/tokenizer"
)

// A script is an engine without a model: it says one text to every prompt, then EOS for ever.
type script struct {
	say  []int32
	gate chan struct{} // a token each, when not nil
	fail error         // of every Generate
	torn atomic.Bool   // what was begun fails
	dead chan struct{} // when not nil, Ping waits for its close

	stats rollout.Stats
}

func newScript(t testing.TB, text string) *script {
	t.Helper()
	return &script{say: tokenizer.Bytes{}.Encode(text), stats: rollout.Stats{Version: 1, MaxRunning: 1}}
}

func (s *script) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for _, r := range reqs {
			smp := &rl.Sample{Request: r.ID, Prompt: r.Prompt, Index: r.Index, Sampling: r.Sampling}
			err := s.fail
			for err == nil && smp.Stop == rl.Unfinished {
				err = s.grow(ctx, r, smp)
			}
			if !yield(smp, err) || err != nil {
				return
			}
		}
	}
}

// grow adds a token.
func (s *script) grow(ctx context.Context, r rl.Request, smp *rl.Sample) error {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if s.torn.Load() {
		return fmt.Errorf("request %d: %w", r.ID, rl.ErrBroken)
	}
	token := tokenizer.Bytes{}.EOS()
	if n := len(smp.Response); n < len(s.say) {
		token = s.say[n]
	}
	smp.Response, smp.LogProbs = append(smp.Response, token), append(smp.LogProbs, -0.5)
	smp.Versions = []rl.Span{{Version: 1, Tokens: len(smp.Response)}}
	switch {
	case len(r.Sampling.StopIDs) > 0 && token == r.Sampling.StopIDs[0]:
		smp.Stop = rl.StopToken
	case r.Watch(smp):
		smp.Stop = rl.StopText
	case len(smp.Response) == r.Sampling.MaxTokens:
		smp.Stop = rl.StopLength
	}
	return nil
}

func (s *script) Ping(ctx context.Context) error {
	select {
	case <-s.dead: // nil, or not closed: never
		return ctx.Err()
	default:
	}
	if s.dead != nil {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (s *script) Stats() rollout.Stats { return s.stats }

func (s *script) Version() rl.Version { return s.stats.Version }

func (s *script) Attestation() rl.Attestation                                         { return rl.Attestation{Version: s.stats.Version} }
func (s *script) Abort(context.Context, ...int64) error                               { return nil }
func (s *script) AbortAll(context.Context) error                                      { return nil }
func (s *script) Pause(context.Context) error                                         { return nil }
func (s *script) PauseWith(context.Context, rollout.Mode) error                       { return nil }
func (s *script) Resume(context.Context) error                                        { return nil }
func (s *script) Flush(context.Context) error                                         { return nil }
func (s *script) Release(context.Context) error                                       { return nil }
func (s *script) Restore(context.Context) error                                       { return nil }
func (s *script) Update(context.Context, rl.Weights) error                            { return nil }
func (s *script) UpdateWith(context.Context, rl.Weights, rollout.UpdateOptions) error { return nil }

var _ Engine = (*script)(nil)

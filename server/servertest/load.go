package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// requests is how many Load sends, from so many clients at a time.
const (
	requests = 10_000
	clients  = 64
)

// Load sends ten thousand requests of mixed lengths. Clients leave and abort at random; meanwhile everything is paused, flushed, aborted, relabelled and updated
// again and again. No request may stay without an answer, each answer must be that of the weights whose label it bears, and in the end the server must
// be as it was: no more goroutines, and no more memory than after the first third.
func Load(t *testing.T, g *Target) {
	l := &loading{check: begin(t, g), pair: g.pair(t, "bf16")}
	l.prepare()
	before := l.goroutines()
	l.run()
	l.untilIdle()
	l.http.CloseIdleConnections()
	t.Logf("%d answers: %v; %d updates, %d pauses, %d flushes, %d aborts of all", requests, l.outcomes(), l.updates, l.pauses, l.flushes, l.aborts)
	l.restored(before)
	l.alive()
}

// A loading is one run of Load.
type loading struct {
	*check

	pair  Pair
	known map[string][]reply // by first letter of the label: greedy answers to the known prompts

	sent    atomic.Int64
	mu      sync.Mutex
	counted map[string]int
	faults  []string
	third   int64 // memory after a third

	updates, pauses, flushes, aborts int // of the one goroutine that disturbs
}

// tokensKnown is the longest answer of a known prompt.
const tokensKnown = 24

func knownPrompt(i int) ids { return prompt(uint64(7000+i), 4+5*i) }

// prepare asks for what the known prompts are answered by either checkpoint.
func (l *loading) prepare() {
	l.counted, l.known = map[string]int{}, map[string][]reply{}
	for _, of := range []struct{ letter, dir string }{{"B", l.pair.B}, {"A", l.pair.A}} {
		l.update(of.dir, of.letter+"0")
		for i := range 8 {
			l.known[of.letter] = append(l.known[of.letter], l.generate(ask(knownPrompt(i), full(tokensKnown))))
		}
	}
	l.unlike("the two checkpoints", l.known["A"], l.known["B"])
}

// run sends everything and returns when all is answered.
func (l *loading) run() {
	var sending sync.WaitGroup
	for i := range clients {
		sending.Go(func() { l.client(rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		l.disturb(rand.New(rand.NewPCG(99, 1)), stop)
	}()
	sending.Wait()
	close(stop)
	<-stopped
	for _, f := range l.faults[:min(20, len(l.faults))] {
		l.Error(f)
	}
	if n := len(l.faults); n > 20 {
		l.Errorf("and %d more faults", n-20)
	}
}

// client sends requests until there are enough.
func (l *loading) client(r *rand.Rand) {
	for n := l.sent.Add(1); n <= requests; n = l.sent.Add(1) {
		if n == requests/3 && l.Memory != nil {
			m, _ := l.Memory()
			l.mu.Lock()
			l.third = m
			l.mu.Unlock()
		}
		outcome, fault := l.one(r, n)
		l.mu.Lock()
		l.counted[outcome]++
		if fault != "" {
			l.faults = append(l.faults, fmt.Sprintf("request %d: %s", n, fault))
		}
		l.mu.Unlock()
	}
}

// one sends one request and judges its answer.
func (l *loading) one(r *rand.Rand, n int64) (outcome, fault string) {
	known, want := r.IntN(8), 1+r.IntN(tokensKnown)
	body := ask(knownPrompt(known), full(want), m{"rid": fmt.Sprintf("load-%d", n)})
	if r.IntN(3) == 0 { // one that draws
		known = -1
		body = ask(prompt(uint64(n), 1+r.IntN(60)), m{"temperature": 1, "max_new_tokens": want, "sampling_seed": n}, m{"rid": fmt.Sprintf("load-%d", n)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch dice := r.IntN(100); {
	case dice < 4:
		time.AfterFunc(time.Duration(r.IntN(20))*time.Millisecond, cancel)
	case dice < 8:
		time.AfterFunc(time.Duration(r.IntN(20))*time.Millisecond, func() { l.post("/abort_request", m{"rid": fmt.Sprintf("load-%d", n)}) })
	case dice < 30:
		body["stream"] = true
	}
	a := l.send(ctx, "POST", "/generate", encode(body))
	if a.err != nil && ctx.Err() == context.Canceled {
		return "left", ""
	}
	if a.err != nil || a.status != 200 {
		return "failed", a.String()
	}
	return l.judge(a, known, want)
}

// judge says how an answer ended, and what is wrong with it.
func (l *loading) judge(a answer, known, want int) (outcome, fault string) {
	var r reply
	q := &quiet{TB: l.TB}
	q.run(func() {
		c := *l.check
		c.TB = q
		a.c = &c
		raw := a.body
		if frames := strings.Split(strings.TrimSpace(string(raw)), "\n\n"); strings.HasPrefix(frames[0], "data: ") {
			if len(frames) < 2 || frames[len(frames)-1] != "data: [DONE]" {
				c.Fatalf("stream ends with %.100q", frames[len(frames)-1])
			}
			a.body = []byte(strings.TrimPrefix(frames[len(frames)-2], "data: "))
		}
		r = a.reply()
		outcome, _ = r.finish()
		l.coherent(r, known, want)
	})
	return outcome, strings.Join(q.said, "; ")
}

// coherent holds an answer to its labels: spans without gaps, and, if it has one label, the tokens and logprobs of those weights.
func (l *loading) coherent(r reply, known, want int) {
	if kind, _ := r.finish(); known >= 0 && kind == "length" && r.int("completion_tokens") != want {
		r.c.Errorf("got %d tokens, want %d", r.int("completion_tokens"), want)
	}
	spans, _ := r.meta()["weight_versions"].([]any)
	letters := map[string]bool{}
	at := 0
	for _, v := range spans {
		o, _ := v.(m)
		start, end := r.c.integer(o["start"], "start"), r.c.integer(o["end"], "end")
		if start != at || end < start {
			r.c.Fatalf("weight_versions is %v, want spans without gaps", spans)
		}
		at = end
		letters[fmt.Sprint(o["version"])[:1]] = true
	}
	if at != r.int("completion_tokens") {
		r.c.Fatalf("weight_versions is %v for %d tokens", spans, r.int("completion_tokens"))
	}
	for letter := range letters {
		if len(letters) == 1 && known >= 0 {
			if l.known[letter] == nil {
				r.c.Fatalf("weight_versions is %v, labels that nobody gave", spans)
			}
			whole := l.known[letter][known]
			r.c.prefix("output_ids of an answer labelled "+letter, r.ids(), whole.ids())
			r.c.near("logprobs of an answer labelled "+letter, r.logprobs(), whole.logprobs()[:len(r.ids())])
		}
	}
}

// disturb pauses, flushes, aborts, relabels and updates until stop.
func (l *loading) disturb(r *rand.Rand, stop chan struct{}) {
	letter, count := "A", 0
	next := int64(0) // by requests, not by time: a slow server isn't disturbed more often
	for {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
		if l.sent.Load() < next {
			continue
		}
		next = l.sent.Load() + 40 + r.Int64N(100)
		count++
		switch dice := r.IntN(10); {
		case dice < 3:
			letter = map[string]string{"A": "B", "B": "A"}[letter]
			l.updates++
			l.swap([]string{"retract", "abort"}[r.IntN(2)], letter, count)
		case dice < 6:
			l.pauses++
			l.ok("/pause_generation", m{"mode": []string{"retract", "in_place"}[r.IntN(2)]})
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
			l.ok("/continue_generation", m{})
		case dice < 8:
			l.flushes++
			if a := l.get("/flush_cache"); a.err != nil || a.status != 200 && a.status != 400 {
				l.fault("%v, want 200 or 400", a)
			}
		case dice < 9:
			l.aborts++
			l.ok("/abort_request", m{"abort_all": true})
		default:
			l.ok("/update_weight_version", m{"new_version": fmt.Sprintf("%s%d", letter, count), "abort_all_requests": false})
		}
	}
}

// swap updates to the checkpoint of letter behind a pause.
func (l *loading) swap(mode, letter string, count int) {
	l.ok("/pause_generation", m{"mode": mode})
	l.ok("/update_weights_from_disk", m{"model_path": map[string]string{"A": l.pair.A, "B": l.pair.B}[letter], "weight_version": fmt.Sprintf("%s%d", letter, count)})
	l.ok("/continue_generation", m{})
}

func (l *loading) ok(path string, body m) {
	if a := l.post(path, body); a.err != nil || a.status != 200 {
		l.fault("%v, want 200", a)
	}
}

func (l *loading) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// outcomes says how often each outcome came.
func (l *loading) outcomes() (out []string) {
	sum := 0
	for k, n := range l.counted {
		out = append(out, fmt.Sprintf("%s %d", k, n))
		sum += n
	}
	slices.Sort(out)
	if sum != requests {
		l.Errorf("%d requests came back, want %d", sum, requests)
	}
	return out
}

// restored fails unless the server is as it was.
func (l *loading) restored(before int) {
	l.Helper()
	if before == 0 {
		l.Log("goroutines are not compared: the server doesn't tell them")
	} else {
		l.eventually(fmt.Sprintf("at most %d goroutines, as before and a few", before+8), 30*time.Second, func() bool { return l.goroutines() <= before+8 })
	}
	if l.Memory == nil || l.third == 0 {
		l.Log("memory is not compared: nobody reads it")
		return
	}
	now := l.resident()
	l.Logf("memory: %d MiB after a third, %d MiB at the end", l.third>>20, now>>20)
	if now > l.third+l.third/4+(16<<20) {
		l.Errorf("memory grew from %d to %d bytes over two thirds of the requests", l.third, now)
	}
}

// goroutines counts the server's, 0 where it doesn't tell.
func (c *check) goroutines() int {
	c.Helper()
	if c.Goroutines != nil {
		n, err := c.Goroutines()
		if err != nil {
			c.Fatalf("goroutines of the server: %v", err)
		}
		return n
	}
	return int(c.gauge("go_goroutines"))
}

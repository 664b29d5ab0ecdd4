package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func determinism() []Test {
	return []Test{
		{
			119, "bits", "alone, in a batch, in chunks, over a warm cache, on other numbers of threads: the same logprobs, bit for bit",
			"always, where SGLang needs its deterministic mode", plain, bits,
		},
		{120, "seeds", "a seed gives its tokens again, whoever runs beside; other seeds give others", "always, where SGLang needs its deterministic mode", plain, seeds},
		{121, "idle_connection", "a connection that idled for 60 s serves the next request", "connections are kept for ten minutes", last, idleConnection},
		{124, "last_end", "an end token on the last place is length, one before is stop", "", plain, lastEnd},
	}
}

func bits(c *check) {
	body := ask(prompt(119, 150), full(40), m{"logprob_start_len": 0})
	c.flush()
	alone := c.generate(body)
	c.same("over a warm cache", c.generate(body), alone)
	c.flush()
	var all []pending
	for i := range 7 {
		all = append(all, c.later("/generate", ask(prompt(uint64(1190+i), 30+20*i), full(60))))
	}
	c.same("among seven others", c.generate(body), alone)
	for _, p := range all {
		p.wait(c).reply()
	}
	if c.Start == nil {
		return
	}
	for _, flags := range [][]string{{flagThreads, "1"}, {flagThreads, "2", "--chunked-prefill-size", "16"}} {
		c.same(strings.Join(flags, " "), c.start(flags...).generate(body), alone)
	}
}

func seeds(c *check) {
	draw := func(seed int) m {
		return ask(prompt(120, 20), m{"temperature": 1, "max_new_tokens": 30, "ignore_eos": true, "sampling_seed": seed})
	}
	one := c.generate(draw(7))
	c.same("the seed again", c.generate(draw(7)), one)
	different := false
	for seed := range 4 {
		different = different || !slices.Equal(c.generate(draw(100+seed)).ids(), one.ids())
	}
	if !different {
		c.Errorf("five seeds gave the same tokens")
	}
	var all []pending
	for i := range 6 {
		all = append(all, c.later("/generate", draw(200+i)))
	}
	c.same("the seed among others", c.generate(draw(7)), one)
	for _, p := range all {
		p.wait(c).reply()
	}
}

func lastEnd(c *check) {
	eos := c.eos()
	c.generate(ask(prompt(124, 10), greedy(1, bias(eos)))).ends("length", 1)
	r := c.generate(ask(prompt(124, 10), greedy(2, bias(eos))))
	r.ends("stop", eos)
	c.equal("output_ids", r.ids(), ids{eos})
}

// resting is a connection that was used once, when the suite began, and then left alone.
type resting struct {
	conn  net.Conn
	in    *bufio.Reader
	since time.Time
	err   error
}

// rest opens the connection.
func rest(t *testing.T, g *Target) *resting {
	u, err := url.Parse(g.URL)
	if err != nil {
		return &resting{err: err}
	}
	if u.Scheme != "http" {
		return &resting{err: fmt.Errorf("the scheme is %s, want http", u.Scheme)}
	}
	r := &resting{}
	if r.conn, r.err = net.Dial("tcp", u.Host); r.err != nil {
		return r
	}
	t.Cleanup(func() { r.conn.Close() })
	r.in = bufio.NewReader(r.conn)
	r.err = r.ask(g)
	r.since = time.Now()
	return r
}

// ask does one exchange on the connection.
func (r *resting) ask(g *Target) error {
	body := string(encode(ask(prompt(121, 5), greedy(1))))
	auth := ""
	if g.Key != "" {
		auth = "Authorization: Bearer " + g.Key + "\r\n"
	}
	if err := r.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(r.conn, "POST /generate HTTP/1.1\r\nHost: suite\r\n%sContent-Length: %d\r\n\r\n%s", auth, len(body), body); err != nil {
		return err
	}
	res, err := http.ReadResponse(r.in, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != 200 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

func idleConnection(c *check) {
	if c.idle == nil || c.idle.err != nil {
		c.Fatalf("the first request on the connection: %v", c.idle)
	}
	if testing.Short() {
		c.Skip("takes a minute, and -short is given")
	}
	time.Sleep(time.Minute - time.Since(c.idle.since))
	if err := c.idle.ask(c.Target); err != nil {
		c.Errorf("after %v: %v", time.Since(c.idle.since), err)
	}
}

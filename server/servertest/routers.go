package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

func routers() []Test {
	return []Test{
		{117, "router", "our balancer: workers are added, listed, removed, by both generations of calls", "", separate, ourRouter},
		{118, "sglang_router", "the real sglang-router in front of two servers: both serve, and a killed one is marked", "", separate, realRouter},
	}
}

// eventually polls until ok, for at most d.
func (c *check) eventually(what string, d time.Duration, ok func() bool) {
	c.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	c.Fatalf("after %v still not: %s", d, what)
}

// workers returns which workers a router lists, and whether they are healthy.
func (c *check) workers() map[string]bool {
	a := c.get("/workers")
	if a.status != 200 {
		return nil
	}
	l, _ := a.object()["workers"].([]any)
	out := map[string]bool{}
	for _, v := range l {
		o, _ := v.(m)
		s, _ := o["url"].(string)
		healthy, _ := o["is_healthy"].(bool)
		out[s] = healthy
	}
	return out
}

func ourRouter(c *check) {
	if c.Router == nil {
		c.Skip("needs a way to start a router")
	}
	one, two := c.start(), c.start()
	r := &check{TB: c.TB, Target: c.Router(c.TB), http: c.http, facts: c.facts}
	id := r.register(one.URL)
	r.eventually("the worker is healthy", 30*time.Second, func() bool { return r.workers()[one.URL] })
	body := ask(prompt(117, 20), full(8))
	c.same("through the router", r.generate(body), one.generate(body))
	r.post("/generate", ask(prompt(117, 20), m{"top_p": 7})).must(400).nested()
	r.post("/workers", m{"url": two.URL}).must(202)
	r.eventually("both are healthy", 30*time.Second, func() bool { return r.workers()[two.URL] })
	r.get("/workers/" + id).must(200)
	r.get("/workers/no-uuid").must(400)
	if a := r.within(patience, "DELETE", "/workers/"+id, nil); a.status != 202 {
		c.Errorf("%v, want 202", a)
	}
	r.eventually("the worker is gone", 10*time.Second, func() bool { _, ok := r.workers()[one.URL]; return !ok })
	r.post("/add_worker?url="+url.QueryEscape(one.URL), nil).must(200)
	r.eventually("both are listed", 30*time.Second, func() bool { return len(r.listed()) == 2 })
	r.post("/remove_worker?url="+url.QueryEscape(two.URL), nil).must(200)
	r.eventually("one is listed", 10*time.Second, func() bool { return len(r.listed()) == 1 && r.listed()[0] == one.URL })
	c.same("through the router", r.generate(body), one.generate(body))
	r.post("/flush_cache", m{}).must(200).object()
}

// register adds a worker and returns its id.
func (c *check) register(at string) string {
	c.Helper()
	a := c.post("/workers", m{"url": at, "worker_type": "regular"}).must(202)
	o := a.object()
	id, _ := o["worker_id"].(string)
	if o["status"] != "accepted" || id == "" || a.header.Get("Location") != "/workers/"+id {
		c.Errorf("%v with Location %q, want an accepted worker and where it is", a, a.header.Get("Location"))
	}
	return id
}

// listed returns what /list_workers says.
func (c *check) listed() (out []string) {
	c.Helper()
	l, _ := c.get("/list_workers").must(200).object()["urls"].([]any)
	for _, v := range l {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// port returns a port of the loopback that nobody listens on.
func (c *check) port() int {
	c.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// gateway starts the real router in front of workers. It ends with the test.
func (c *check) gateway(workers ...string) *check {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	port := c.port()
	args := append([]string{"-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--worker-urls"}, workers...)
	args = append(args, "--policy", "round_robin", "--prometheus-port", fmt.Sprint(c.port()),
		"--health-check-interval-secs", "1", "--health-failure-threshold", "2", "--health-check-timeout-secs", "2", "--retry-max-retries", "3")
	cmd := exec.CommandContext(ctx, c.Python, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		c.Fatal(err)
	}
	c.Cleanup(func() {
		cancel()
		err := cmd.Wait()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			c.Errorf("the router: %v", err)
		}
		if c.Failed() {
			c.Logf("the router said:\n%.4000s", out.String())
		}
	})
	return &check{TB: c.TB, Target: &Target{URL: fmt.Sprintf("http://127.0.0.1:%d", port)}, http: c.http, facts: c.facts}
}

func realRouter(c *check) {
	if lacks := python(c.TB, c.Target, "sglang_router"); lacks != "" {
		c.Skip(lacks)
	}
	one, two := c.start(), c.start()
	if two.Kill == nil {
		c.Skip("needs servers that can be killed")
	}
	r := c.gateway(one.URL, two.URL)
	r.eventually("both workers are registered", 60*time.Second, func() bool { w := r.workers(); return w[one.URL] && w[two.URL] })
	body := ask(prompt(118, 20), full(8))
	want := one.generate(body)
	for range 8 {
		c.same("through the router", r.generate(body), want)
	}
	for _, s := range []*check{one, two} {
		if s.gauge("sglang:num_requests_total") < 2 {
			c.Errorf("%s served nothing through the router", s.URL)
		}
	}
	r.post("/generate", ask(prompt(118, 20), m{"top_p": 7})).must(400)
	two.Kill()
	for range 8 { // none is lost
		c.same("with one server killed", r.generate(body), want)
	}
	r.eventually("the killed server is marked", 30*time.Second, func() bool { w := r.workers(); return w[one.URL] && !w[two.URL] })
}

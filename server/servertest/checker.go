package servertest

import "encoding/json"

func checkers() []Test {
	return []Test{{109, "weights_checker", "checksums are those of a restart; snapshot, reset, update, compare", "", weights, weightsChecker}}
}

func (c *check) checker(action string, more ...m) answer {
	return c.post("/weights_checker", with(append([]m{{"action": action}}, more...)...))
}

// checksums returns the checksums of the first rank.
func (c *check) checksums() m {
	c.Helper()
	ranks, _ := c.checker("checksum").succeeded()["ranks"].([]any)
	if len(ranks) == 0 {
		c.Fatal("weights_checker has no ranks")
	}
	first, _ := ranks[0].(m)
	sums, _ := first["checksums"].(m)
	if len(sums) == 0 {
		c.Fatalf("a rank is %v, want checksums", first)
	}
	for name, v := range sums {
		if s, _ := v.(string); len(s) != 16 {
			c.Errorf("checksum of %s is %v, want 16 hexadecimal digits", name, v)
		}
	}
	if s, _ := first["per_gpu_checksum"].(string); len(s) != 64 {
		c.Errorf("per_gpu_checksum is %v, want 64 hexadecimal digits", first["per_gpu_checksum"])
	}
	l, _ := first["parallelism_info"].([]any)
	if len(l) == 0 {
		c.Fatalf("parallelism_info is %v, want a list", first["parallelism_info"])
	}
	if o, _ := l[0].(m); o["rank"] != json.Number("0") {
		c.Errorf("parallelism_info[0].rank is %v, want 0", o["rank"])
	}
	return sums
}

func weightsChecker(c *check) {
	p := c.pair(c, "fp8")
	s := c.start("--model-path", p.A)
	sums := s.checksums()
	c.equal("checksums after a restart", c.start("--model-path", p.A).checksums(), sums)
	before := s.impression()
	s.checker("snapshot").succeeded()
	s.checker("compare").succeeded()
	s.checker("reset_tensors").succeeded()
	if a := s.post("/generate", ask(prompt(109, 10), full(8))); a.status == 200 { // noise need not compute
		s.unlike("after reset_tensors", s.impression(), before)
	}
	s.checker("compare").failed()
	s.update(p.A, "1")
	s.checker("compare").succeeded()
	s.like("after the update", s.impression(), before)
	c.equal("checksums after the update", s.checksums(), sums)
	s.checker("bogus").failed()
}

package sched

import "fmt"

func ExampleScheduler() {
	mem := newCounter(100, 16) // pages, tokens a page
	mem.tokens[1], mem.tokens[2] = 5, 20
	s := New(Config{MaxRunning: 8, MaxPrefill: 16}, mem)
	fmt.Println(s.Add(Seq{ID: 1, Tokens: 5, Most: 30}), s.Add(Seq{ID: 2, Tokens: 20, Most: 30}))
	for range 2 {
		p := s.Next()
		fmt.Println("decode", p.Decode, "prefill", p.Prefill)
		s.Done()
		s.Append(1) // its chunk was its last: it has one token more
	}
	// Output:
	// <nil> <nil>
	// decode [] prefill [{1 0 5 true} {2 0 11 false}]
	// decode [{1 5 6 true}] prefill [{2 11 20 true}]
}

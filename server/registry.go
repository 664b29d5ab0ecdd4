package server

import (
	"strings"
	"sync"
)

// registry knows the jobs in flight. The zero value knows none.
type registry struct {
	mu   sync.Mutex
	live map[string]*job
	last int64 // id handed out
}

// enter takes up all jobs, which get their ids, or none when a rid is in flight already.
func (r *registry) enter(jobs []*job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil {
		r.live = map[string]*job{}
	}
	for i, j := range jobs {
		if r.live[j.rid] != nil {
			for _, k := range jobs[:i] {
				delete(r.live, k.rid)
			}
			return bad("rid %q is in flight already, want another", j.rid)
		}
		r.last++
		j.id = r.last
		r.live[j.rid] = j
	}
	return nil
}

// leave forgets jobs.
func (r *registry) leave(jobs []*job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		delete(r.live, j.rid)
	}
}

// find returns the jobs that accept accepts.
func (r *registry) find(accept func(j *job) bool) (out []*job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.live {
		if accept(j) {
			out = append(out, j)
		}
	}
	return out
}

// count returns how many jobs are in flight.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.live)
}

// meant returns whether a rid is meant by another: it is the same, or one of its children rid_0, rid_1 and so on; or begins with it.
func meant(rid, by string, prefix bool) bool {
	if prefix {
		return strings.HasPrefix(rid, by)
	}
	rest, ok := strings.CutPrefix(rid, by)
	if !ok || rest == "" {
		return ok
	}
	rest, ok = strings.CutPrefix(rest, "_")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

package server

import (
	"sync"

	"furlong/rl"
)

// firstLabel is what the weights are called that a server starts with.
const firstLabel = "default"

// labels knows how versions of the weights are called on the wire. The zero value knows none.
type labels struct {
	mu    sync.Mutex
	names map[rl.Version]string
}

// set calls a version by a name. Who updates weights does so before the engine takes them up.
func (l *labels) set(v rl.Version, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[rl.Version]string{}
	}
	l.names[v] = name
}

// drop forgets a version that was not taken up.
func (l *labels) drop(v rl.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.names, v)
}

// of returns the name of a version: the first label for those that nobody named.
func (l *labels) of(v rl.Version) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name, ok := l.names[v]; ok {
		return name
	}
	return firstLabel
}

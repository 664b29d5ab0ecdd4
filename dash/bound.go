package dash

import (
	"net"
	"sync"
)

// maxConns is how many connections are open at most.
const maxConns = 512

// conns returns how many connections may be open: a quarter of the files that this process may open is the most, since the run that a page shows needs the
// rest for its own.
func conns() int { return max(1, min(files()/4, maxConns)) }

// A bounded listener closes what comes while as many connections as it may have are open. It does not let them wait: who waits holds a file too, as soon as the
// system takes the connection, and browsers come again by themselves.
type bounded struct {
	net.Listener
	open chan struct{} // one element for each open connection
}

func bound(at net.Listener, most int) net.Listener {
	return &bounded{Listener: at, open: make(chan struct{}, most)}
}

// Accept returns the next connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.open <- struct{}{}:
			return &counted{Conn: c, leave: sync.OnceFunc(func() { <-b.open })}, nil
		default:
			_ = c.Close() // nothing was said yet
		}
	}
}

// A counted connection makes room when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection once and for all.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

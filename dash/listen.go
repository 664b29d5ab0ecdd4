package dash

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// DefaultAddress is where pages are unless another address is named.
const DefaultAddress = "127.0.0.1:7878"

// tries is how many ports are tried from the one asked for.
const tries = 100

// Listen takes an address or, where its port is taken, the next one that is free. Port 0 is any.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address is %q, want HOST:PORT as %s", address, DefaultAddress)
	}
	first, err := strconv.Atoi(port)
	if err != nil || first < 0 || first > 65535 {
		return nil, fmt.Errorf("address is %q, want a port of 0 to 65535", address)
	}
	for n := first; ; n++ {
		at, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n)))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || n == 65535 || n-first == tries {
			return at, err
		}
	}
}

package door

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Listen takes an address, with TLS if there is a certificate with its key, and returns the scheme that clients put before it.
func Listen(address, cert, key string) (at net.Listener, scheme string, err error) {
	if cert == "" {
		at, err = net.Listen("tcp", address)
		return at, "http", err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, "", fmt.Errorf("certificate: %w", err)
	}
	at, err = tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	return at, "https", err
}

// HTTP returns an http.Server with the limits that belong to a rollout server: on headers and on idle connections, and none on the time an answer takes.
func HTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 20 * time.Second,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Loopback reports whether a host is this machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

package dash

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"
)

// dial opens a connection that asks for the list of runs and stays open. It returns the status of the answer, 0 where the server closed it.
func dial(t testing.TB, address string) (c net.Conn, status int) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprint(c, "GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return c, 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return c, 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return c, resp.StatusCode
}

// A run that shows itself needs its files for itself: of more connections than there may be, those that come too late are closed, and there is room again when one goes.
func TestConnectionsAreBounded(t *testing.T) {
	s := server(t, Options{})
	s.conns = 3
	at, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, at) }()
	var held []net.Conn
	for i := range 6 {
		c, status := dial(t, at.Addr().String())
		if want := map[bool]int{true: 200}[i < 3]; status != want {
			t.Errorf("connection %d is answered %d, want %d", i, status, want)
		}
		held = append(held, c)
	}
	held[0].Close()
	for status := 0; status != 200; { // the server learns of it when the system tells it
		if t.Context().Err() != nil {
			t.Fatal("there is no room again")
		}
		_, status = dial(t, at.Addr().String())
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A quarter of the files that a process may open is the most, and never none.
func TestConnsLeaveFiles(t *testing.T) {
	if n := conns(); n < 1 || n > maxConns {
		t.Errorf("%d connections, want 1 to %d", n, maxConns)
	}
}

// limited notes until when an answer may be written.
type limited struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (l *limited) SetWriteDeadline(t time.Time) error {
	l.until = t
	return nil
}

// Who does not read an answer does not keep a connection for ever.
func TestAnswersHaveADeadline(t *testing.T) {
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	s := server(t, Options{}, filepath.Join(dir, "small"))
	for _, path := range []string{"/", "/api/runs", "/api/r/small/head", "/nowhere"} {
		w := &limited{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		before := time.Now()
		s.ServeHTTP(w, r)
		if w.until.Before(before.Add(answerLimit)) || w.until.After(time.Now().Add(answerLimit)) {
			t.Errorf("%s: may be written until %v, want %v from its beginning", path, w.until, answerLimit)
		}
	}
}

package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"furlong/server"
)

// A door that shows nothing yet says so; one that was shut says nothing more.
func TestDoor(t *testing.T) {
	d, err := server.Open("127.0.0.1:0", "", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := server.Open(d.Addr().String(), "", "", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second door at one address: %v, want that it is in use", err)
	}
	get := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Address()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(req)
	}
	resp, err := get()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("before there is a server: %d %s, want 503 with Retry-After", resp.StatusCode, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := d.Shut(t.Context()); err != nil {
		t.Errorf("Shut: %v", err)
	}
	<-d.Ended()
	if resp, err := get(); err == nil {
		resp.Body.Close()
		t.Errorf("after it was shut: %d, want no connection", resp.StatusCode)
	}
}

func ExampleConfig_Validate() {
	c := server.Default()
	c.StreamEvery, c.MaxBody = 0, 0
	fmt.Println(c.Validate())
	// Output:
	// --max-body-size is 0, want at least 1
	// --stream-interval is 0, want at least 1
}

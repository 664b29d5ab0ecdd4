package sglang

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"furlong/api/sglang"
)

// longestAnswer is how much is read of one answer.
const longestAnswer = 1 << 30

// A wire carries calls to servers.
type wire struct {
	http  *http.Transport
	key   string
	admin string
}

func newWire(c Config) (*wire, error) {
	key, err := secret("rollout-api-key-file", c.KeyFile)
	if err != nil {
		return nil, err
	}
	admin, err := secret("rollout-admin-api-key-file", c.AdminKeyFile)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &wire{key: key, admin: admin, http: &http.Transport{
		DialContext: d.DialContext, MaxIdleConnsPerHost: c.Concurrency, TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout: 4 * time.Second, // SGLang leaves idle connections after 5 s
	}}, nil
}

// secret reads a key from its file, "" for no file. In a flag it would be written down with the run's settings.
func secret(flag, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	key := strings.TrimSpace(string(text))
	if err == nil && (key == "" || strings.ContainsAny(key, "\r\n")) {
		err = fmt.Errorf("%s has no single line, want one: the key", file)
	}
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	return key, nil
}

// A statusError is an answer that is no success.
type statusError struct {
	path   string
	status int
	says   string
}

// Error says what was answered.
func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %d: %s", e.path, e.status, e.says)
}

// A cutError is an answer that broke off after it had begun.
type cutError struct{ error }

// Unwrap returns how it broke off.
func (e cutError) Unwrap() error { return e.error }

// A goneError is a request that nobody answered.
type goneError struct{ error }

// Unwrap returns what became of it.
func (e goneError) Unwrap() error { return e.error }

// isAdmin reports whether a path changes what a server does for others, for which there may be a key of its own.
func isAdmin(path string) bool {
	for _, p := range []string{"/generate", "/health", "/model_info", "/get_model_info", "/server_info", "/get_server_info", "/v1/"} {
		if strings.HasPrefix(path, p) {
			return false
		}
	}
	return true
}

// call sends a request and returns the body of its answer, which must be a success.
func (w *wire) call(ctx context.Context, method, url, path string, kind string, body io.Reader, size int64) ([]byte, error) {
	text, _, err := w.send(ctx, method, url, path, kind, body, size)
	return text, err
}

// send is call; it returns also the name of the process that answered, "" where servers don't say.
func (w *wire) send(ctx context.Context, method, url, path string, kind string, body io.Reader, size int64) (text []byte, process string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url+path, body)
	if err != nil {
		if c, ok := body.(io.Closer); ok {
			_ = c.Close() // as the transport would
		}
		return nil, "", err
	}
	req.ContentLength = size
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	key := w.key
	if w.admin != "" && isAdmin(path) {
		key = w.admin
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return w.answer(req, path)
}

func (w *wire) answer(req *http.Request, path string) (text []byte, process string, err error) {
	path, _, _ = strings.Cut(path, "?")
	resp, err := w.http.RoundTrip(req)
	if err != nil {
		return nil, "", goneError{fmt.Errorf("%s: %w", path, err)}
	}
	defer resp.Body.Close()
	process = resp.Header.Get(sglang.ProcessHeader)
	text, err = io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	switch {
	case err != nil:
		return nil, process, cutError{fmt.Errorf("%s: %w", path, err)}
	case len(text) > longestAnswer:
		return nil, process, fmt.Errorf("%s answers more than %d bytes", path, longestAnswer)
	case resp.StatusCode != http.StatusOK:
		return nil, process, &statusError{path, resp.StatusCode, sglang.Complaint(text)}
	}
	return text, process, nil
}

// get reads what a path tells into to; nil is for text that nobody reads.
func (w *wire) get(ctx context.Context, url, path string, to any) error {
	text, err := w.call(ctx, http.MethodGet, url, path, "", nil, 0)
	if err != nil || to == nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// post sends a body as JSON and reads the answer into to, unless that is nil.
func (w *wire) post(ctx context.Context, url, path string, body, to any) error {
	_, err := w.ask(ctx, url, path, body, to)
	return err
}

// ask is post; it returns also the name of the process that answered, "" where servers don't say.
func (w *wire) ask(ctx context.Context, url, path string, body, to any) (process string, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	text, process, err := w.send(ctx, http.MethodPost, url, path, "application/json", bytes.NewReader(raw), int64(len(raw)))
	if err != nil || to == nil {
		return process, err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return process, fmt.Errorf("%s: %w", path, err)
	}
	return process, nil
}

// unreached reports whether nobody was there to take a request.
func unreached(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// status returns the status of an answer that was no success, 0 if err is something else.
func status(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 0
}

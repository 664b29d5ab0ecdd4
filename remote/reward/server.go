package reward

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"furlong/rl"
)

// A Server judges over HTTP. Several goroutines may use it at once.
type Server struct {
	url, key, rewardKey string
	client              *http.Client
}

// NewServer returns the judge at an address. keyFile, if any, holds what is sent as a bearer token.
func NewServer(address, keyFile, rewardKey string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--rm-url is %q, want http://host:port/path", address)
	}
	s := &Server{url: address, rewardKey: rewardKey, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if keyFile != "" {
		key, err := os.ReadFile(keyFile)
		if err != nil {
			return nil, fmt.Errorf("--rm-api-key-file: %w", err)
		}
		if s.key = strings.TrimSpace(string(key)); s.key == "" || strings.ContainsAny(s.key, "\r\n") {
			return nil, fmt.Errorf("--rm-api-key-file: %s holds no key, want one line", keyFile)
		}
	}
	return s, nil
}

// Reward asks the server for one sample.
func (s *Server) Reward(ctx context.Context, sample *rl.Sample) error {
	text, err := ask(sample)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err // names method and address
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", s.url, err)
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s: status %d, want 200: %.100q", s.url, res.StatusCode, body)
	case len(body) > longestAnswer:
		return fmt.Errorf("%s: answer is longer than %d bytes", s.url, longestAnswer)
	}
	if err := settle(sample, body, s.rewardKey); err != nil {
		return fmt.Errorf("%s: %w", s.url, err)
	}
	return nil
}

package sglang

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// A Failure is how native endpoints answer a request that cannot be carried out: {"error":{"message":...}}.
type Failure struct {
	Error FailureText `json:"error"`
}

// FailureText is what went wrong. In streams it has a type, a code and whether another attempt makes sense.
type FailureText struct {
	Message   string `json:"message"`
	Type      string `json:"type,omitempty"`
	Code      int    `json:"code,omitempty"`
	Retryable *bool  `json:"retryable,omitempty"`
}

// Failed returns a Failure.
func Failed(message string) Failure { return Failure{FailureText{Message: message}} }

// StreamFailed returns the Failure of a stream that did not begin.
func StreamFailed(message string, code int) Failure {
	return Failure{FailureText{Message: message, Type: "invalid_request_error", Code: code, Retryable: new(false)}}
}

// A Problem is the flat shape: of bodies that cannot be read, of what the framework refuses, and of failures of the engine.
type Problem struct {
	Object  string  `json:"object"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

// NewProblem returns the flat shape for an HTTP status, whose number is also the type; a body that cannot be read is a "Bad Request".
func NewProblem(status int, message string) Problem {
	kind := strconv.Itoa(status)
	if status == 400 {
		kind = "Bad Request"
	}
	return Problem{Object: "error", Message: message, Type: kind, Code: status}
}

// An Outcome is what endpoints for weights answer.
type Outcome struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Paused  *int   `json:"num_paused_requests,omitempty"`
	Version string `json:"new_version,omitempty"`
}

// Complaint returns what the body of an error says, in whichever of the shapes it has; the beginning of the body when it has none.
func Complaint(body []byte) string {
	var w struct {
		Error        json.RawMessage `json:"error"`
		Message      string          `json:"message"`
		ErrorMessage string          `json:"error_message"`
		Detail       json.RawMessage `json:"detail"`
	}
	if err := Decode(body, &w); err != nil {
		return strings.TrimSpace(string(body[:min(len(body), 500)]))
	}
	var nested FailureText
	var text string
	switch {
	case w.Message != "":
		return w.Message
	case w.ErrorMessage != "":
		return w.ErrorMessage
	case json.Unmarshal(w.Error, &nested) == nil && nested.Message != "":
		return nested.Message
	case json.Unmarshal(w.Error, &text) == nil && text != "":
		return text
	}
	return strings.TrimSpace(string(body[:min(len(body), 500)]))
}

// Worker returns the address of a server without what callers of data-parallel routers put behind it: http://host:port@3 is http://host:port.
func Worker(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		if _, err := strconv.Atoi(address[i+1:]); err == nil {
			address = address[:i]
		}
	}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + strings.TrimRight(u.Path, "/")
	}
	return strings.TrimRight(address, "/")
}

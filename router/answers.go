package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// writeJSON answers with v.
func writeJSON(rw http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // the client may have left
}

// writeError answers as a worker's own framework would: a client of theirs reads it already.
func writeError(rw http.ResponseWriter, status int, message string) {
	writeJSON(rw, status, map[string]any{"object": "error", "message": message, "type": strconv.Itoa(status), "param": nil, "code": status})
}

// writeFault answers a call about workers that can't be done.
func writeFault(rw http.ResponseWriter, status int, code, message string) {
	writeJSON(rw, status, map[string]string{"error": message, "code": code})
}

// writeUnread answers a request whose body could not be read.
func writeUnread(rw http.ResponseWriter, err error) {
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		writeError(rw, http.StatusRequestEntityTooLarge, fmt.Sprintf("body has more than %d bytes (--max-payload-size)", long.Limit))
		return
	}
	writeError(rw, http.StatusBadRequest, "body can't be read: "+err.Error())
}

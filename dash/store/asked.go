package store

import (
	"fmt"

	"furlong/dash/api"
)

// A Status is the HTTP status that an [Asked] stands for.
type Status int

// The statuses: asked wrongly; no such thing; being written; was there and is not kept; cannot be read.
const (
	Wrong   Status = 400
	Missing Status = 404
	Growing Status = 409
	Gone    Status = 410
	Broken  Status = 500
)

// Asked is why there is no answer, in a form for the one who asked.
type Asked struct {
	Status Status
	Reply  api.Error
}

// Error says what is wrong.
func (a *Asked) Error() string { return a.Reply.Error }

func asked(s Status, format string, args ...any) *Asked {
	return &Asked{s, api.Error{Error: fmt.Sprintf(format, args...)}}
}

// hint adds what to do about it.
func (a *Asked) hint(format string, args ...any) *Asked {
	a.Reply.Hint = fmt.Sprintf(format, args...)
	return a
}

// in names the file.
func (a *Asked) in(file string) *Asked {
	a.Reply.File = file
	return a
}

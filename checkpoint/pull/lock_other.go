//go:build !unix

package pull

import (
	"context"
	"os"
)

// wait does nothing where there are no such locks: two pulls to one folder at once are then the user's to avoid.
func wait(context.Context, *os.File) error { return nil }

//go:build !unix

package convert

import "os"

// lock does nothing where there are no such locks: two conversions to one directory at once are then the user's to avoid.
func lock(*os.File) error { return nil }

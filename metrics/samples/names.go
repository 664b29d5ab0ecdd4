package samples

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
)

// bodyName matches c000037.fls and c000120-aime-2024.fls.
var bodyName = regexp.MustCompile(`^c([0-9]{6,10})(?:-([A-Za-z0-9_.-]+))?\.fls$`)

// Name returns the file name of a cycle's body, or of that of an evaluation after it.
func Name(cycle uint32, eval string) string {
	if eval != "" {
		return fmt.Sprintf("c%06d-%s.fls", cycle, eval)
	}
	return fmt.Sprintf("c%06d.fls", cycle)
}

// ParseName is the reverse of [Name].
func ParseName(name string) (cycle uint32, eval string, ok bool) {
	m := bodyName.FindStringSubmatch(name)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.ParseUint(m[1], 10, 32)
	return uint32(n), m[2], err == nil && Name(uint32(n), m[2]) == name
}

// bodies lists the bodies in a folder by name, none if it is not there.
func bodies(dir string) ([]place, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []place
	for _, e := range entries {
		if cycle, eval, ok := ParseName(e.Name()); ok {
			all = append(all, place{cycle, eval})
		}
	}
	return all, nil
}

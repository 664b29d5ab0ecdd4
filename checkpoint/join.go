package checkpoint

import (
	"errors"
	"fmt"
	"slices"
)

const maxErrors = 40

// Join joins errors as [errors.Join] does, but of a long list it keeps the head and counts the rest: the
// wrong checkpoint for a model has tens of thousands of them.
func Join(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if n := len(errs) - maxErrors; n > 0 {
		errs = append(errs[:maxErrors:maxErrors], fmt.Errorf("and %d more", n))
	}
	return errors.Join(errs...)
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"furlong/dash/api"
)

// baselines reads lines of reference, NAME=SHARE. A name may hold the sign too.
func baselines(asked []string) ([]api.Baseline, error) {
	var out []api.Baseline
	var errs []error
	for _, a := range asked {
		at := strings.LastIndex(a, "=")
		name := strings.TrimSpace(a[:max(at, 0)])
		v, err := strconv.ParseFloat(strings.TrimSpace(a[at+1:]), 64)
		if name == "" || err != nil || !(v >= 0 && v <= 1) {
			errs = append(errs, fmt.Errorf("--baseline is %q, want NAME=SHARE with a share from 0 to 1, as base=0.39", a))
			continue
		}
		out = append(out, api.Baseline{Name: name, Value: api.Float(v)})
	}
	return out, errors.Join(errs...)
}

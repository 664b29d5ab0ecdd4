package rl

import "fmt"

// A Version names one state of the policy's weights. The upper 8 bits count the process starts of a run (its epoch), the lower
// 24 the publications, so that two versions of a run never share a number, not even over a resume. 0 is no version.
type Version uint32

// NewVersion returns publication n of an epoch.
func NewVersion(epoch, n int) Version { return Version(uint32(epoch)<<24 | uint32(n)&0xffffff) }

// Epoch returns the process start that published v, from 0.
func (v Version) Epoch() int { return int(v >> 24) }

// Count returns the publication number, which goes on over a resume.
func (v Version) Count() int { return int(v & 0xffffff) }

// String prints the count, and the epoch where there was a resume: "37", "2.41".
func (v Version) String() string {
	if v.Epoch() == 0 {
		return fmt.Sprint(v.Count())
	}
	return fmt.Sprintf("%d.%d", v.Epoch(), v.Count())
}

// A Span is a run of tokens chosen by one version.
type Span struct {
	Version Version
	Tokens  int
}

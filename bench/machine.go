package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"furlong/kernels"
)

// A Machine says what a benchmark ran on.
type Machine struct {
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	Threads   int     `json:"threads"`
	Backend   string  `json:"backend"`
	Unit      string  `json:"unit"` // of the processor that does the arithmetic, where the backend says
	System    string  `json:"system"`
	Load      float64 `json:"load"` // runnable processes when the run began, by the system's average of a minute; -1 where it does not tell
	Memory    string  `json:"memory_is"`
}

func thisMachine(k kernels.Backend, threads int) Machine {
	m := Machine{
		Processor: processor(), Cores: runtime.NumCPU(), Threads: threads, Backend: k.Name(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Load: load(), Memory: "resident set of the process",
	}
	if u, ok := k.(interface{ Unit() string }); ok {
		m.Unit = u.Unit()
	}
	if _, ok := residentSet(); !ok {
		m.Memory = "held by the Go runtime"
	}
	return m
}

// processor returns the processor's name, or its kind where the system does not tell.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if name := field(string(text), "model name"); err == nil && name != "" {
		return name
	}
	return runtime.GOARCH
}

func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	v, bad := strconv.ParseFloat(first, 64)
	if err != nil || bad != nil {
		return -1
	}
	return v
}

// field returns what follows a name and a colon in the first such line of text.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// A footprint is the process's memory in bytes: now, and the most since peaks were last cleared.
type footprint struct{ now, peak int64 }

// memory returns the footprint: the resident set where the system tells it, else what the Go runtime took from the system.
func memory() footprint {
	if f, ok := residentSet(); ok {
		return f
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{int64(m.Sys - m.HeapReleased), int64(m.Sys)}
}

func residentSet() (footprint, bool) {
	text, err := os.ReadFile("/proc/self/status")
	now, ok := kilobytes(field(string(text), "VmRSS"))
	peak, ok2 := kilobytes(field(string(text), "VmHWM"))
	return footprint{now, peak}, err == nil && ok && ok2
}

// kilobytes reads "1234 kB" as bytes.
func kilobytes(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " kB"), 10, 64)
	return n << 10, err == nil && strings.HasSuffix(s, " kB")
}

// clearPeak gives unused memory back and makes the peak start anew. Where the system cannot, the peak stays that of the process so far.
func clearPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // a peak too high is an upper bound, and harmless
}

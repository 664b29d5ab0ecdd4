package rl

// Rescored is what a rollout engine finds when it is asked to compute samples again, away from all that it keeps, and looks itself over.
type Rescored struct {
	Version Version
	Damaged []string // tensors in memory that are not those that the version came with
	Stale   []string // weights from which something else was derived than a fresh derivation gives

	// Logprobs of the samples' responses, computed whole and without pages: by a new engine that took up the same version, and by the engine
	// that serves.
	Cold, Running [][]float32
}

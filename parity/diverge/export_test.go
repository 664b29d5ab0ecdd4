package diverge

// The constants of limits, for tests.
const (
	NoiseBF16 = noiseBF16
	NoiseE4M3 = noiseE4M3
	NoiseE2M1 = noiseE2M1
)

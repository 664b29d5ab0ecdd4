package rl

// MixSeed takes numbers into a seed, one after the other, by a step of SplitMix64 each: one to one in each number, near ones far apart. All
// seeds that belong to a place (a group, a sample, a problem, a token) are made by it.
func MixSeed(seed uint64, xs ...uint64) uint64 {
	for _, x := range xs {
		seed += x + 0x9e3779b97f4a7c15
		seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		seed = (seed ^ seed>>27) * 0x94d049bb133111eb
		seed ^= seed >> 31
	}
	return seed
}

// Package ticktest is a rollout engine and a prompt source for tests of what fetches samples: an engine whose requests get a token each at every tick of a
// bubble's clock ([testing/synctest]), in which everything can be made to break, and whose tokens say which version chose them.
//
// Units: lengths in tokens; a tick is a millisecond of a clock that stands still while anything runs.
// Errors: those that a test asks for.
package ticktest

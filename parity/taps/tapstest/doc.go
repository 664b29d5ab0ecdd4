// Package tapstest makes small models with every kind of layer, judges of them, and the taps of their passes, for tests of what compares taps.
//
// Shapes: as in package model/dsv4.
// Units: none.
// Errors: what a test can't go on with panics.
package tapstest

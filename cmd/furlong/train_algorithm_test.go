package main

import (
	"testing"

	"furlong/dtype"
	"furlong/model/dsv4"
)

// A model beside the actor must know as many tokens as it does.
func TestKnowsTokens(t *testing.T) {
	actor, other := drifting, drifting
	other.Vocab++
	if err := knowsTokens(dsv4.New(actor, dtype.BF16), dsv4.New(actor, dtype.BF16)); err != nil {
		t.Error(err)
	}
	if err := knowsTokens(dsv4.New(other, dtype.BF16), dsv4.New(actor, dtype.BF16)); err == nil {
		t.Error("a teacher of other tokens passes")
	}
}

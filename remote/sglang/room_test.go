package sglang

import (
	"context"
	"testing"
)

// Who finds no room waits until a place is given back, its request is told to end, or nobody wants it any more; and only who has a place gives one back.
func TestRoom(t *testing.T) {
	room := make(chan struct{}, 1)
	leave := enter(t.Context(), room, newFlight())
	came := make(chan func())
	go func() { came <- enter(context.Background(), room, newFlight()) }()
	told := newFlight()
	close(told.end)
	enter(t.Context(), room, told)()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	enter(gone, room, newFlight())()
	select {
	case <-came:
		t.Fatal("a second one is in, want it to wait")
	default:
	}
	if len(room) != 1 {
		t.Fatalf("%d places are taken, want the one", len(room))
	}
	leave()
	(<-came)()
	if len(room) != 0 {
		t.Errorf("%d places are taken, want none", len(room))
	}
}

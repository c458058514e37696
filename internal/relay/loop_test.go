package relay

import "testing"

// A command that was carried out counts as such, also as the last of a loop.
func TestTheLastCommandIsDone(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	ended := &loop{stopped: closed}
	for range 100 {
		if !ended.await(closed) {
			t.Fatal("a command that was carried out is taken for one that was not")
		}
	}
	if ended.await(make(chan struct{})) {
		t.Error("a command that was not carried out is taken for one that was")
	}
}

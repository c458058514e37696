package linkmodel

import "fmt"

// Direction is a direction of a link: from its end a to its end b, or back. Requests may mean both.
type Direction string

// The directions of a link.
const (
	AB   Direction = "ab"
	BA   Direction = "ba"
	Both Direction = "both"
)

// Directions are the two that a link has.
var Directions = [2]Direction{AB, BA}

// Covers reports whether a request for d means other.
func (d Direction) Covers(other Direction) bool { return d == other || d == Both }

// Validate returns what is wrong with the direction of a request.
func (d Direction) Validate() error {
	if d != AB && d != BA && d != Both {
		return fmt.Errorf("direction: %q, want %s, %s or %s", d, AB, BA, Both)
	}
	return nil
}

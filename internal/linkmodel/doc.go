// Package linkmodel is one direction of an emulated link as a state machine: a queue, a rate, then a line that
// delays, jitters, loses, reorders, duplicates and corrupts.
//
// It does no I/O, reads no clock and starts no goroutine. Frames and the time of their arrival go in by
// [Pipe.Push], frames come out by [Pipe.Pop] once they are due, and [Pipe.Next] returns when to look
// again. The relay drives it with real frames and the machine's clock, a simulator with its own packets and virtual
// time.
//
// All times are since an origin of the caller's choice, and logical: a frame's due time follows from its arrival, never from the moment at which the
// caller came to look. A caller that is late makes frames late, but loses no capacity, and the next frame is
// none the later for it.
package linkmodel

const (
	nsPerMs = 1e6
	nsPerS  = 1e9
)

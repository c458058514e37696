// Package timing has the types and units of times. Model time, of links, sessions and simulations, is a time.Duration
// since an origin of the caller's choice; the kernel's timestamps and what files have is Unix time.
package timing

import (
	"math"
	"time"
)

// Never is the model time of what waits for an event.
const Never = time.Duration(math.MaxInt64)

// Unix is a time in nanoseconds since 1970 UTC.
type Unix int64

// Now returns the time of the machine's clock.
func Now() Unix { return Of(time.Now()) }

// Of returns a time that package time has.
func Of(t time.Time) Unix { return Unix(t.UnixNano()) }

// Time returns it as package time has it.
func (u Unix) Time() time.Time { return time.Unix(0, int64(u)) }

// Sub returns the time since an earlier one.
func (u Unix) Sub(earlier Unix) time.Duration { return time.Duration(u - earlier) }

// Add returns the time that is later by d.
func (u Unix) Add(d time.Duration) Unix { return u + Unix(d) }

// Milliseconds converts a number of them.
func Milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Seconds converts a number of them.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

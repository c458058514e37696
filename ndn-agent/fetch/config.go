package fetch

import (
	"time"

	"ncp-testbed/ndn-agent/packet"
)

// The algorithms.
const (
	AIMD  = "aimd"
	Cubic = "cubic"
)

// Config is how an object is fetched.
type Config struct {
	Name        packet.Name
	Discover    bool // Name may lack the version: learn the segments' names from the first answer
	Algorithm   string
	IgnoreMarks bool
	RTOMin      time.Duration
	InitialCwnd float64 // segments
	AIMDStep    float64
	AIMDBeta    float64
	MaxRetries  int // of one segment
	Lifetime    time.Duration
	Seed        uint64 // of nonces
}

// Default returns the parameters of ndncatchunks' AIMD: an RTO of at least
// 200 ms, a window of 1 that grows by 1 and is halved.
func Default(name packet.Name) Config {
	return Config{
		Name: name, Algorithm: AIMD, RTOMin: 200 * time.Millisecond, InitialCwnd: 1, AIMDStep: 1, AIMDBeta: 0.5,
		MaxRetries: 15, Lifetime: packet.DefaultLifetime,
	}
}

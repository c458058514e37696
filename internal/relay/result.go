package relay

import "ncp-testbed/internal/telemetry"

// Result is DIR/result.json of the relay.
type Result struct {
	Schema  int     `json:"schema"`
	Run     string  `json:"run"`
	Seconds float64 `json:"seconds"`
	// CPUSeconds is what the relay took of the machine's CPU time.
	CPUSeconds float64    `json:"cpu_s"`
	Privileges Privileges `json:"granted"`
	// RingDrops are frames, of any link, that the kernel dropped because the relay did not come to read in
	// time. No property of the link asks for it.
	RingDrops uint64       `json:"ring_drops"`
	Links     []LinkResult `json:"links"`
	Changes   []Change     `json:"changes"`
	// Telemetry counts the points, if they were pushed.
	Telemetry *telemetry.Counts `json:"telemetry,omitempty"`
}

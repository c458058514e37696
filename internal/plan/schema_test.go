package plan

import (
	"testing"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/schemas"
)

func TestTheSchemaHasWhatIsRead(t *testing.T) {
	// A trace and samples of jitter are in files of their own, and what a rate is in frames is rate_bps to a link. One
	// way of a link may differ from the other, but in plans none does.
	schemas.CheckPlan(t, "", Plan{},
		"links.frames_pps", "links.trace_ms", "links.jitter_samples_ms", "links.ab", "links.ba")
	schemas.CheckPlan(t, "Properties", linkmodel.Properties{},
		"frames_pps", "burst_bytes", "trace_ms", "queue", "jitter", "jitter_samples_ms", "jitter_reorders")
}

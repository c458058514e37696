package plan

import (
	"testing"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/schemas"
)

func TestTheSchemaHasWhatIsRead(t *testing.T) {
	schemas.CheckPlan(t, "", Plan{})
	schemas.CheckPlan(t, "Link", struct {
		Trace  string `json:"trace_file"`
		Jitter string `json:"jitter_file"`
	}{})
	// A trace and samples of jitter are in files of their own, and what a rate is in frames is rate_bps to a link.
	schemas.CheckPlan(t, "Link", linkmodel.Properties{}, "frames_pps", "trace_ms", "jitter_samples_ms")
	schemas.CheckPlan(t, "Properties", linkmodel.Properties{},
		"frames_pps", "burst_bytes", "trace_ms", "queue", "jitter", "jitter_samples_ms", "jitter_reorders")
}

package agent

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/endpoint"
)

// Reading is not paused for a runner that has gone before its time.
func TestAPausesClientHasGone(t *testing.T) {
	c := &control{driver: &endpoint.Driver{}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fmt.Sprintf("/pause-read?connection=1&ms=10&at_unix_ns=%d", time.Now().Add(time.Second).UnixNano())
	_, err := c.pauseRead(httptest.NewRequestWithContext(ctx, "POST", path, nil))
	if err == nil || !strings.Contains(err.Error(), "the client has gone") {
		t.Error(err)
	}
}

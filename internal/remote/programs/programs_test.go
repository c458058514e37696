package programs

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A program whose runner has gone before its time is not started.
func TestAProgramsClientHasGone(t *testing.T) {
	p := Programs{Folder: t.TempDir(), Namespace: func(string) (string, bool) { return "/proc/self/ns/net", true }, running: map[string]*started{}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fmt.Sprintf("/program?name=p&host=h&at_unix_ns=%d", time.Now().Add(time.Second).UnixNano())
	_, err := p.start(httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(`["true"]`)))
	if err == nil || !strings.Contains(err.Error(), "the client has gone") || len(p.running) > 0 {
		t.Errorf("%v, %d programs are there", err, len(p.running))
	}
}

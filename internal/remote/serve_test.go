package remote

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An end of a link is not changed for a runner that has gone before its time.
func TestAChangesClientHasGone(t *testing.T) {
	m := New(t.TempDir(), nil)
	if err := m.holdHost("h", os.Getpid()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fmt.Sprintf("/change?host=h&at_unix_ns=%d", time.Now().Add(time.Second).UnixNano())
	_, err := m.change(httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(`{"interface": "lo"}`)))
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skip("needs root, to enter network namespaces")
	}
	if err == nil || !strings.Contains(err.Error(), "the client has gone") {
		t.Error(err)
	}
}

// answersMeanwhile reports an error unless requests about hosts are answered while another one waits.
func answersMeanwhile(t *testing.T, m *Machine) {
	t.Helper()
	answered := make(chan bool)
	go func() {
		m.namespace("h")
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("requests about hosts wait for another one")
	}
}

// While samples come to their end, and while counters are read, others are answered.
func TestNoRequestWaitsForAnother(t *testing.T) {
	ending, end := make(chan bool), make(chan bool)
	m := New(t.TempDir(), func([]byte) (func(context.Context, string) (any, error), error) {
		return func(ctx context.Context, _ string) (any, error) {
			<-ctx.Done()
			close(ending)
			<-end
			return "all", nil
		}, nil
	})
	if _, err := m.collect(httptest.NewRequest("POST", "/collect", nil)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := m.endCollecting(nil)
		ended <- err
	}()
	<-ending
	answersMeanwhile(t, m)
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}

	// A pipe in place of a namespace: to open it waits for a writer.
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.namespaces["h"] = held
	go func() {
		_, err := m.queues(nil)
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond) // until it reads
	answersMeanwhile(t, m)
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := <-ended; err == nil {
		t.Error("a pipe was taken for a namespace")
	}
}

// A namespace that is held may be in use: it is neither closed nor replaced.
func TestANamespaceThatIsHeldStays(t *testing.T) {
	m := New(t.TempDir(), nil)
	other := exec.Command("unshare", "--net", "sh", "-c", "echo ready; exec sleep 60")
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		t.Skip("needs root, to make network namespaces")
	}
	for range 2 {
		if err := m.holdHost("h", os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	held := m.namespaces["h"]
	if err := m.holdHost("h", other.Process.Pid); err == nil {
		t.Error("another namespace takes its place")
	}
	if _, err := held.Stat(); err != nil || m.namespaces["h"] != held {
		t.Errorf("it is %v instead of %v (%v)", m.namespaces["h"], held, err)
	}
}

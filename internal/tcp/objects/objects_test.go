package objects

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
)

// notes are what a listener writes while a test reads.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) connections(t *testing.T) (found []Connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := bufio.NewScanner(bytes.NewReader(n.text.Bytes()))
	for lines.Scan() {
		var one Connection
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	return found
}

// serve starts a server; what it notes is read after a client has its answer.
func serve(t *testing.T, algorithm string, headerApart bool) (string, *notes) {
	t.Helper()
	written := new(notes)
	listener, err := Listen("127.0.0.1:0", algorithm, headerApart, written)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(headerApart, new(Served))}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), written
}

// fetch asks as curl --http1.0 does and reads to the connection's end.
func fetch(t *testing.T, address, path string) []byte {
	t.Helper()
	connection, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET %s HTTP/1.0\r\nHost: x\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestObjectsHaveTheirSizeAndEndTheConnection(t *testing.T) {
	for _, headerApart := range []bool{false, true} {
		objectsHaveTheirSize(t, headerApart)
	}
}

func objectsHaveTheirSize(t *testing.T, headerApart bool) {
	address, noted := serve(t, "", headerApart)
	sizes := []int{0, 1, 4500, 4096, 399644, 5 << 20}
	for _, size := range sizes {
		answer := fetch(t, address, "/"+strconv.Itoa(size))
		head, body, found := bytes.Cut(answer, []byte("\r\n\r\n"))
		if !found || !bytes.HasPrefix(head, []byte("HTTP/1.0 200")) {
			t.Fatalf("/%d: answered %.80q", size, answer)
		}
		if len(body) != size {
			t.Errorf("/%d: %d bytes", size, len(body))
		}
	}
	connections := noted.connections(t)
	if len(connections) != len(sizes) {
		t.Fatalf("%d connections noted for %d objects", len(connections), len(sizes))
	}
	for _, one := range connections {
		if one.InitialWindow == 0 || one.MSSBytes == 0 || one.CongestionControl == "" {
			t.Errorf("noted %+v", one)
		}
	}
}

func TestServedHasTheHashOfWhatArrived(t *testing.T) {
	served := new(Served)
	server := httptest.NewServer(Handler(false, served))
	want := []Sent{}
	for _, size := range []int64{0, 23, 100_000, 300_001} { // beside the filler's length and of pieces of any size
		sent := Sent{ObjectBytes: size, Times: 2}
		for range sent.Times {
			answer, err := http.Get(fmt.Sprintf("%s/%d", server.URL, size))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || int64(len(body)) != size {
				t.Fatalf("%d bytes and %v for %d", len(body), err, size)
			}
			sent.SHA256 = fmt.Sprintf("%x", sha256.Sum256(body))
		}
		want = append(want, sent)
	}
	server.Close()
	var lines bytes.Buffer
	if err := served.WriteLines(&lines); err != nil {
		t.Fatal(err)
	}
	found := []Sent{}
	for each := json.NewDecoder(&lines); each.More(); {
		var one Sent
		if err := each.Decode(&one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	if !slices.Equal(found, want) {
		t.Errorf("told %+v, arrived %+v", found, want)
	}
}

func TestWhatIsNotSentWholeIsNotServed(t *testing.T) {
	served := new(Served)
	server := httptest.NewServer(Handler(false, served))
	answer, err := http.Get(server.URL + "/104857600")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // long before its end
	server.Close()
	var lines bytes.Buffer
	if err := served.WriteLines(&lines); err != nil || lines.Len() > 0 {
		t.Errorf("told %q, %v", lines.String(), err)
	}
}

func TestCongestionControlIsTheSockets(t *testing.T) {
	address, noted := serve(t, "reno", false) // every kernel with TCP has it
	fetch(t, address, "/1")
	if found := noted.connections(t)[0].CongestionControl; found != "reno" {
		t.Errorf("congestion control %q", found)
	}
}

// TestSegments counts what the kernel sent: the loopback's MSS is set to an Ethernet's.
func TestSegments(t *testing.T) {
	for _, c := range []struct {
		headerApart bool
		object      int
		segments    uint32
	}{{false, 4200, 3}, {false, 4500, 4}, {true, 2896, 3}, {true, 4500, 5}, {false, 40000, 28}} {
		if found := segmentsOf(t, c.object, c.headerApart); found != c.segments {
			t.Errorf("%d bytes, header apart: %v: %d segments, not %d", c.object, c.headerApart, found, c.segments)
		}
	}
}

// segmentsOf is how many segments with data a client with an MSS of 1448 gets.
func segmentsOf(t *testing.T, object int, headerApart bool) uint32 {
	t.Helper()
	address, _ := serve(t, "", headerApart)
	dialer := net.Dialer{Control: sockets.Prepare(func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1460) // less 12 of timestamps
	})}
	connection, err := dialer.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "GET /%d HTTP/1.0\r\nHost: x\r\n\r\n", object)
	if _, err := io.Copy(io.Discard, connection); err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	if err := sockets.Control(connection.(*net.TCPConn), func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return info.Data_segs_in
}

func TestUnknownCongestionControlIsRefused(t *testing.T) {
	_, err := Listen("127.0.0.1:0", "no-such", false, io.Discard)
	if !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("got %v", err)
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	for _, path := range []string{"/", "/x", "/-1", "/+1", "/1.5", "/1073741825", "/99999999999999999999", "/1/2", "/0x10"} {
		answer := httptest.NewRecorder()
		Handler(false, new(Served)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
	answer := httptest.NewRecorder()
	Handler(false, new(Served)).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/1", nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("POST: %d", answer.Code)
	}
}

func FuzzObjectBytes(f *testing.F) {
	for _, path := range []string{"/4500", "/", "", "/-0", "/1073741824", "//1"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		size, ok := objectBytes(path)
		if ok && (size < 0 || size > LargestBytes || !strings.HasPrefix(path, "/")) {
			t.Errorf("%q: %d", path, size)
		}
		if again, ok := objectBytes("/" + strconv.FormatInt(size, 10)); !ok || again != size {
			t.Errorf("%q: %d, then %d", path, size, again)
		}
	})
}

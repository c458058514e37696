// Package objects serves web objects of exact sizes over real TCP connections and notes what each connection
// started with.
package objects

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// LargestBytes is the largest object that is served.
const LargestBytes = 1 << 30

// filler is what objects consist of.
var filler = bytes.Repeat([]byte("ncp-testbed web object\n"), 1<<12)

// Handler serves GET /4500 with a body of 4500 bytes. Anything else is answered with 404 and what would be right.
// With headerApart the header leaves in a segment of its own, as it does from servers that write it at once. Objects that
// were sent whole are counted in served.
func Handler(headerApart bool, served *Served) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, ok := objectBytes(r.URL.Path)
		if !ok || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
			http.Error(w, "objects are GET /SIZE, with a size in bytes of at most 1 GiB, like /4500", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if headerApart {
			_ = http.NewResponseController(w).Flush()
		}
		if r.Method == http.MethodGet {
			// A client that goes away is its own business: it sees that bytes are missing.
			if sent, _ := io.Copy(w, body(size)); sent == size {
				served.add(size)
			}
		}
	})
}

// objectBytes is the size that a path names.
func objectBytes(path string) (int64, bool) {
	size, err := strconv.ParseUint(strings.TrimPrefix(path, "/"), 10, 31)
	if err != nil || size > LargestBytes || !strings.HasPrefix(path, "/") {
		return 0, false
	}
	return int64(size), true
}

// body is an object: the filler over and over, cut at size.
func body(size int64) io.Reader { return io.LimitReader(new(endless), size) }

// endless reads filler for ever, whatever the sizes of its reads.
type endless struct{ at int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, filler[e.at:])
	e.at = (e.at + n) % len(filler)
	return n, nil
}

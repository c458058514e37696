package download

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	verb = "download "
	// mostRequestBytes bounds what the server reads of a client that does not end its line.
	mostRequestBytes = 64
	// MostBytes is the largest object: both ends hold it in memory, so that neither waits for a disk or a hash.
	MostBytes = 256 << 20
)

// writeRequest asks for that many bytes.
func writeRequest(w io.Writer, bytes int) error {
	_, err := io.WriteString(w, verb+strconv.Itoa(bytes)+"\n")
	return err
}

// readRequest takes "download BYTES\n" and returns the number of bytes.
func readRequest(r io.Reader) (int, error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, mostRequestBytes), mostRequestBytes).ReadString('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, fmt.Errorf("request %q: no line: %w", line, err)
	}
	digits, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), verb)
	bytes, err := strconv.Atoi(digits)
	if !ok || err != nil || bytes < 1 || bytes > MostBytes {
		return 0, fmt.Errorf("request %q: want \"download BYTES\", 1 to %d", line, MostBytes)
	}
	return bytes, nil
}

package telemetry

import "bytes"

// WholeLines returns where the whole lines of buf end, and how many of them are
// points, at most limit.
func WholeLines(buf []byte, limit int) (end, points int) {
	for points < limit {
		n := bytes.IndexByte(buf[end:], '\n')
		if n < 0 {
			return end, points
		}
		if IsPoint(buf[end : end+n]) {
			points++
		}
		end += n + 1
	}
	return end, points
}

// IsPoint reports whether a line is a point, and neither empty nor a comment.
func IsPoint(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) > 0 && line[0] != '#'
}

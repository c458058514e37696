package clocksync

import (
	"bytes"
	"os"
	"strconv"
)

// cpu is how many jiffies all cores together have been idle, and how many there were, since the machine was booted; 0
// where that is not known.
func cpu() (idle, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, field := range bytes.Fields(line) {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if i == 0 || i > 8 || err != nil { // "cpu", and guests' time, which is in users' already
			continue
		}
		all += n
		if i == 4 || i == 5 { // idle, and waiting for a disk
			idle += n
		}
	}
	return idle, all
}

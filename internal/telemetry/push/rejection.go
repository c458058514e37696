package push

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"ncp-testbed/internal/telemetry"
)

// rejection says that InfluxDB refused some or all points of a batch for what
// they are, so that writing them again would change nothing.
type rejection struct {
	points int
	coarse bool // some of them may be without a fault of their own
	reason string
}

func (r *rejection) Error() string {
	return fmt.Sprintf("InfluxDB rejected %d points: %s", r.points, r.reason)
}

// dropped is how an answer ends; 1.13 adds where.
var dropped = regexp.MustCompile(`^((?s:.*)) dropped=(\d+)(?: for database: .*)?$`)

const unreadable = "unable to parse '"

// rejected reads out of InfluxDB 1.x's answer how many points it refused.
// There are three kinds:
//   - Lines that it can't parse; it repeats each. One with an open quote takes
//     the lines after it along.
//   - "partial write: … dropped=N": N points that it parsed but can't store.
//     Lines of the same batch that it can't parse go unmentioned then
//     (serveWrite in its services/httpd/handler.go), so they are counted here.
//   - Any other: the whole batch.
func rejected(why string, lines []byte, points int) *rejection {
	body, partial := strings.CutPrefix(why, "partial write: ")
	unstored := 0
	if m := dropped.FindStringSubmatch(body); m != nil {
		body = m[1]
		unstored, _ = strconv.Atoi(m[2])
	}
	switch {
	case strings.HasPrefix(body, unreadable):
		refused, named := 0, 0
		for line := range strings.SplitSeq(body, "\n") {
			if telemetry.IsPoint([]byte(line)) {
				refused++
			}
			if strings.HasPrefix(line, unreadable) {
				named++
			}
		}
		if !partial {
			refused = points
		}
		return &rejection{min(refused, points), refused > named, why}
	case partial:
		return &rejection{min(unstored+unparsable(lines), points), false, why}
	default:
		return &rejection{points, true, why}
	}
}

// unparsable counts the lines that are no line protocol.
func unparsable(lines []byte) int {
	n := 0
	d := lineprotocol.NewDecoderWithBytes(lines)
	for d.Next() {
		if readPoint(d) != nil {
			n++
		}
	}
	return n
}

// readPoint reads the decoder's current point to its end.
func readPoint(d *lineprotocol.Decoder) error {
	if _, err := d.Measurement(); err != nil {
		return err
	}
	for {
		key, _, err := d.NextTag()
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
	}
	for {
		key, _, err := d.NextField()
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
	}
	_, err := d.Time(lineprotocol.Nanosecond, time.Time{})
	return err
}

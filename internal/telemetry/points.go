package telemetry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// Points encodes points as line protocol with nanosecond timestamps.
type Points struct {
	lines   []byte
	count   int
	skipped int   // points that could not be encoded
	err     error // why the first of them
}

// Field is one field of a point.
type Field struct {
	Name  string
	value lineprotocol.Value
	ok    bool
}

// Float makes a float field; NaN and infinities, which InfluxDB does not take,
// leave the field out.
func Float(name string, v float64) Field {
	value, ok := lineprotocol.FloatValue(v)
	return Field{name, value, ok}
}

// Int makes an integer field.
func Int[T ~int | ~int64 | ~uint64](name string, v T) Field {
	return Field{name, lineprotocol.IntValue(int64(v)), true}
}

// Text makes a string field; text that is no UTF-8 leaves the field out.
func Text(name, v string) Field {
	value, ok := lineprotocol.StringValue(v)
	return Field{name, value, ok}
}

// Tags are a point's tags. They are checked and encoded once: most points have
// those of an earlier one.
type Tags struct {
	text string // as it follows the measurement
	err  error  // why line protocol can't carry them
}

// MakeTags sorts tags by name; empty values, which line protocol can't carry,
// are left out.
func MakeTags(tags map[string]string) Tags {
	const measurement = "m"
	var e lineprotocol.Encoder
	e.StartLine(measurement)
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if tags[name] != "" {
			e.AddTag(name, tags[name])
		}
	}
	if err := e.Err(); err != nil {
		return Tags{err: err}
	}
	return Tags{text: string(e.Bytes()[len(measurement):])}
}

// Add encodes one point. Its measurement and the names of its fields are words:
// letters, digits, underscores. A point that has no field left, or that line
// protocol can't carry, is left out; Take tells.
func (p *Points) Add(measurement string, tags Tags, at time.Time, fields ...Field) {
	line, err := appendPoint(p.lines, measurement, tags, at, fields)
	if err != nil {
		p.skip(measurement, err)
		return
	}
	p.lines = line
	p.count++
}

func appendPoint(to []byte, measurement string, tags Tags, at time.Time, fields []Field) ([]byte, error) {
	if !isWord(measurement) {
		return nil, errors.New("the measurement is no word")
	}
	if tags.err != nil {
		return nil, tags.err
	}
	to = append(to, measurement...)
	to = append(to, tags.text...)
	separator := byte(' ')
	for i := range fields {
		f := &fields[i]
		if !f.ok {
			continue
		}
		if !isWord(f.Name) {
			return nil, fmt.Errorf("the field name %q is no word", f.Name)
		}
		to = append(to, separator)
		to = append(to, f.Name...)
		to = append(to, '=')
		to = f.value.AppendBytes(to)
		separator = ','
	}
	if separator == ' ' {
		return nil, errors.New("no field has a value")
	}
	ns := at.UnixNano()
	if !time.Unix(0, ns).Equal(at) {
		return nil, fmt.Errorf("the time %s: %w", at.Format(time.RFC3339), lineprotocol.ErrValueOutOfRange)
	}
	to = append(to, ' ')
	to = strconv.AppendInt(to, ns, 10)
	return append(to, '\n'), nil
}

// isWord reports whether a name is one that line protocol takes as it is, without escapes.
func isWord(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return name != ""
}

func (p *Points) skip(measurement string, err error) {
	p.skipped++
	if p.err == nil {
		p.err = fmt.Errorf("%s: %w", measurement, err)
	}
}

// Take returns the lines added since the last Take and their number. The bytes
// are good until the next Add. An error reports points that were left out;
// the lines are good all the same.
func (p *Points) Take() (lines []byte, count int, err error) {
	lines, count = p.lines, p.count
	if p.skipped > 0 {
		err = &SkippedError{p.skipped, p.err}
	}
	p.lines = p.lines[:0]
	p.count, p.skipped, p.err = 0, 0, nil
	return lines, count, err
}

// SkippedError reports points that could not be encoded.
type SkippedError struct {
	Points int
	First  error // why the first of them could not
}

func (e *SkippedError) Error() string {
	return fmt.Sprintf("telemetry: %d points left out, the first: %v", e.Points, e.First)
}

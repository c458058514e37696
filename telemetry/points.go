package telemetry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// Points encodes points as line protocol with nanosecond timestamps.
type Points struct {
	encoder lineprotocol.Encoder
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

// Tags are a point's tags in the order that line protocol wants.
type Tags [][2]string

// MakeTags sorts tags by name; empty values, which line protocol can't carry,
// are left out.
func MakeTags(tags map[string]string) Tags {
	var sorted Tags
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if tags[name] != "" {
			sorted = append(sorted, [2]string{name, tags[name]})
		}
	}
	return sorted
}

// Add encodes one point. One that has no field left, or that line protocol
// can't carry, is left out; Take tells.
func (p *Points) Add(measurement string, tags Tags, at time.Time, fields ...Field) {
	if !slices.ContainsFunc(fields, func(f Field) bool { return f.ok }) {
		p.skip(measurement, errors.New("no field has a value"))
		return
	}
	p.encoder.SetPrecision(lineprotocol.Nanosecond)
	p.encoder.StartLine(measurement)
	for _, tag := range tags {
		p.encoder.AddTag(tag[0], tag[1])
	}
	for _, f := range fields {
		if f.ok {
			p.encoder.AddField(f.Name, f.value)
		}
	}
	p.encoder.EndLine(at)
	if err := p.encoder.Err(); err != nil {
		p.encoder.ClearErr() // the encoder has taken the line back
		p.skip(measurement, err)
		return
	}
	p.count++
}

func (p *Points) skip(measurement string, err error) {
	p.skipped++
	if p.err == nil {
		p.err = fmt.Errorf("%s: %w", measurement, err)
	}
}

// Take gives the lines added since the last Take and their number. The bytes
// are good until the next Add. An error tells of points that were left out;
// the lines are good all the same.
func (p *Points) Take() (lines []byte, count int, err error) {
	lines, count = p.encoder.Bytes(), p.count
	if p.skipped > 0 {
		err = &SkippedError{p.skipped, p.err}
	}
	p.encoder.Reset()
	p.count, p.skipped, p.err = 0, 0, nil
	return lines, count, err
}

// SkippedError tells of points that could not be encoded.
type SkippedError struct {
	Points int
	First  error // why the first of them could not
}

func (e *SkippedError) Error() string {
	return fmt.Sprintf("telemetry: %d points left out, the first: %v", e.Points, e.First)
}

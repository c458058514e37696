package telemetry

import (
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

// Add encodes one point. It needs at least one field that is not left out.
func (p *Points) Add(measurement string, tags Tags, at time.Time, fields ...Field) {
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
	p.count++
}

// Take gives the lines added since the last Take and their number. The bytes
// are good until the next Add. It is an error if a point could not be encoded.
func (p *Points) Take() (lines []byte, count int, err error) {
	lines, count, err = p.encoder.Bytes(), p.count, p.encoder.Err()
	p.encoder.Reset()
	p.count = 0
	if err != nil {
		return nil, 0, fmt.Errorf("telemetry: %w", err)
	}
	return lines, count, nil
}

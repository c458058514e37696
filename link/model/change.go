package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
)

// Change is a change of some properties; nil leaves a property as it is. Of rate_bps, frames_pps and trace_ms,
// and of loss and gilbert_elliott, the one that is set replaces the others.
type Change struct {
	RateBPS         *float64        `json:"rate_bps,omitempty"`
	FramesPPS       *float64        `json:"frames_pps,omitempty"`
	BurstBytes      *int            `json:"burst_bytes,omitempty"`
	Trace           *Trace          `json:"trace_ms,omitempty"`
	Queue           *Queue          `json:"queue,omitempty"`
	DelayMS         *float64        `json:"delay_ms,omitempty"`
	JitterMS        *float64        `json:"jitter_ms,omitempty"`
	JitterKind      *string         `json:"jitter,omitempty"`
	JitterSamplesMS *[]float64      `json:"jitter_samples_ms,omitempty"`
	JitterReorders  *bool           `json:"jitter_reorders,omitempty"`
	Loss            *float64        `json:"loss,omitempty"`
	GilbertElliott  *GilbertElliott `json:"gilbert_elliott,omitempty"`
	Reorder         *float64        `json:"reorder,omitempty"`
	Duplicate       *float64        `json:"duplicate,omitempty"`
	Corrupt         *float64        `json:"corrupt,omitempty"`
}

// ParseChange reads a change from a JSON object, refusing properties that it does not know and values that
// mean nothing. The error names the property.
func ParseChange(text []byte) (Change, error) {
	var c Change
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
			return Change{}, fmt.Errorf("%s: no such property, want some of %s", name, strings.Join(propertyNames(), ", "))
		}
		return Change{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Change{}, errors.New("more than one JSON value")
	}
	return c, c.Validate()
}

// propertyNames are the keys of a change.
func propertyNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Change]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Bounds within which nothing overflows.
const (
	minRate       = 0.001
	maxBurstBytes = 1e9
)

// Validate tells whether every value of the change means something; the error names the property.
func (c *Change) Validate() error {
	for _, p := range []struct {
		name  string
		value *float64
		max   float64
	}{
		{"rate_bps", c.RateBPS, 1e12},
		{"frames_pps", c.FramesPPS, 1e12},
		{"delay_ms", c.DelayMS, 3.6e6},
		{"jitter_ms", c.JitterMS, 3.6e6},
		{"loss", c.Loss, 1},
		{"reorder", c.Reorder, 1},
		{"duplicate", c.Duplicate, 1},
		{"corrupt", c.Corrupt, 1},
	} {
		if p.value != nil && !(*p.value >= 0 && *p.value <= p.max) {
			return fmt.Errorf("%s: %v, want a number from 0 to %g", p.name, *p.value, p.max)
		}
	}
	for name, rate := range map[string]*float64{"rate_bps": c.RateBPS, "frames_pps": c.FramesPPS} {
		if rate != nil && *rate > 0 && *rate < minRate {
			return fmt.Errorf("%s: %v, want 0 for no limit, or at least %g", name, *rate, minRate)
		}
	}
	if c.BurstBytes != nil && (*c.BurstBytes < 0 || *c.BurstBytes > maxBurstBytes) {
		return fmt.Errorf("burst_bytes: %d, want 0 to %d", *c.BurstBytes, int(maxBurstBytes))
	}
	rates := 0
	for _, set := range []bool{c.RateBPS != nil && *c.RateBPS > 0, c.FramesPPS != nil && *c.FramesPPS > 0, c.Trace != nil} {
		if set {
			rates++
		}
	}
	if rates > 1 {
		return errors.New("rate_bps, frames_pps, trace_ms: want one of them")
	}
	if c.JitterSamplesMS != nil {
		for i, ms := range *c.JitterSamplesMS {
			if !(math.Abs(ms) <= 3.6e6) {
				return fmt.Errorf("jitter_samples_ms[%d]: %v, want milliseconds", i, ms)
			}
		}
	}
	if c.JitterKind != nil {
		switch *c.JitterKind {
		case JitterUniform, JitterNormal, JitterSamples:
		default:
			return fmt.Errorf("jitter: %q, want %s, %s or %s", *c.JitterKind, JitterUniform, JitterNormal, JitterSamples)
		}
	}
	if c.GilbertElliott != nil {
		if c.Loss != nil && *c.Loss > 0 {
			return errors.New("loss, gilbert_elliott: want one of them")
		}
		if err := c.GilbertElliott.validate(); err != nil {
			return err
		}
	}
	if c.Queue != nil {
		return c.Queue.validate()
	}
	return nil
}

// Apply returns the properties after the change.
func (p Properties) Apply(c *Change) Properties {
	if c.RateBPS != nil || c.FramesPPS != nil || c.Trace != nil {
		p.RateBPS, p.FramesPPS, p.Trace = 0, 0, Trace{}
	}
	set(&p.RateBPS, c.RateBPS)
	set(&p.FramesPPS, c.FramesPPS)
	set(&p.Trace, c.Trace)
	set(&p.BurstBytes, c.BurstBytes)
	set(&p.Queue, c.Queue)
	set(&p.DelayMS, c.DelayMS)
	set(&p.JitterMS, c.JitterMS)
	set(&p.JitterKind, c.JitterKind)
	set(&p.JitterSamplesMS, c.JitterSamplesMS)
	set(&p.JitterReorders, c.JitterReorders)
	if c.Loss != nil {
		p.Loss, p.GilbertElliott = *c.Loss, nil
	}
	if c.GilbertElliott != nil {
		p.Loss, p.GilbertElliott = 0, c.GilbertElliott
	}
	set(&p.Reorder, c.Reorder)
	set(&p.Duplicate, c.Duplicate)
	set(&p.Corrupt, c.Corrupt)
	return p
}

func set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

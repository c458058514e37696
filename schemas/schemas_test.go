package schemas

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

const small = `{
	"type": "object",
	"properties": {
		"schema": {"const": 1, "type": "integer"},
		"seed": {"type": "integer"},
		"at": {"type": "string"},
		"mode": {"enum": ["a", "b"], "type": "string"},
		"interval_ms": {"type": "number"},
		"loss": {"type": "number", "minimum": 0, "maximum": 1},
		"windows": {"anyOf": [{"items": {"type": "integer"}, "type": "array"}, {"type": "null"}]},
		"links": {"items": {"$ref": "#/$defs/Link"}, "type": "array"},
		"timeline": {"items": {"oneOf": [{"$ref": "#/$defs/Set"}, {"$ref": "#/$defs/Plug"}]}, "type": "array"}
	},
	"$defs": {
		"Link": {"type": "object", "properties": {"rate_bps": {"type": "integer"}, "index": {"type": "integer"}}},
		"Set": {"type": "object", "properties": {"kind": {"const": "set", "type": "string"}, "to": {"type": "number"}}},
		"Plug": {"type": "object", "properties": {"kind": {"const": "plug", "type": "string"}, "up": {"type": "boolean"}}}
	}
}`

type link struct {
	RateBPS float64 `json:"rate_bps"`
	Index   int     `json:"index,omitempty"`
	Own     int     `json:"-"`
}

func TestWhatPlansHaveMayBeRead(t *testing.T) {
	var right struct {
		Schema     int            `json:"schema"`
		Seed       *uint64        `json:"seed"`
		At         netip.AddrPort `json:"at"`
		Mode       string         `json:"mode"`
		IntervalMS float64        `json:"interval_ms"`
		Loss       float64        `json:"loss" max:"1"`
		Windows    []float64      `json:"windows"`
		Links      []link         `json:"links"`
		Timeline   []struct {
			Kind string          `json:"kind"`
			Up   bool            `json:"up"`
			To   json.RawMessage `json:"to"`
		} `json:"timeline"`
	}
	if found := faults([]byte(small), "", reflect.TypeOf(right), nil); found != nil {
		t.Error(found)
	}
}

func TestWhatPlansDoNotHaveIsAFault(t *testing.T) {
	for _, c := range []struct {
		at     string
		read   any
		beyond []string
		want   []string
	}{
		{read: struct {
			Sead int `json:"sead"`
		}{}, want: []string{"sead: plans have no such key (field Sead of struct { Sead int \"json:\\\"sead\\\"\" })"}},
		{read: struct {
			Seed string `json:"seed"`
		}{}, want: []string{"seed: is integer, read as string"}},
		{read: struct {
			IntervalMS int `json:"interval_ms"`
		}{}, want: []string{"interval_ms: is number, read as integer"}},
		{read: struct {
			Windows []string `json:"windows"`
		}{}, want: []string{"windows: is integer, read as string"}},
		{read: struct {
			Windows int `json:"windows"`
		}{}, want: []string{"windows: is array, read as integer"}},
		{read: struct {
			Loss float64 `json:"loss"`
		}{}, want: []string{"loss: has other bounds than those that are read: 0 to any"}},
		{read: struct {
			Loss float64 `json:"loss" max:"2"`
		}{}, want: []string{"loss: has other bounds than those that are read: 0 to 2"}},
		{read: struct {
			Links link `json:"links"`
		}{}, want: []string{"links: is array, read as object"}},
		{read: struct {
			Timeline []struct {
				To bool `json:"to"`
			} `json:"timeline"`
		}{}, want: []string{"timeline.to: is number, read as boolean"}},
		{at: "Link", read: struct {
			Bytes int `json:"bytes"`
		}{}, beyond: []string{"bytes"}},
		{at: "Link", read: link{}, beyond: []string{"index"}, want: []string{"index: is no field beyond the schema"}},
		{at: "Link", read: link{}, beyond: []string{"bytes"}, want: []string{"bytes: is no field beyond the schema"}},
		{at: "Node", read: link{}, want: []string{`the schema has no definition "Node"`}},
	} {
		if found := faults([]byte(small), c.at, reflect.TypeOf(c.read), c.beyond); !slices.Equal(found, c.want) {
			t.Errorf("%T: %q, want %q", c.read, found, c.want)
		}
	}
}

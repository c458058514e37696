// Package schemas compares Go's plan structs with the plan's JSON Schema, for
// tests: no field may be read under a name or a type that plans don't have.
package schemas

import (
	"cmp"
	_ "embed"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed plan.schema.json
var plan []byte

// schema is the part of a JSON Schema that pydantic writes for plans.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	Defs       map[string]*schema `json:"$defs"`
}

// CheckPlan fails the test where a field of the struct, or of one in it, has a
// JSON name that plans don't have there, or another type, or other bounds. at is the name of the
// schema's definition, like "Link"; "" is the plan itself. beyond are names that
// the struct has for other documents, with their path, like "queue.bytes"; one
// that plans do have, or the struct doesn't, fails the test as well.
func CheckPlan(t *testing.T, at string, read any, beyond ...string) {
	t.Helper()
	for _, fault := range faults(plan, at, reflect.TypeOf(read), beyond) {
		t.Error(fault)
	}
}

func faults(text []byte, at string, read reflect.Type, beyond []string) []string {
	var whole schema
	if err := json.Unmarshal(text, &whole); err != nil {
		return []string{err.Error()}
	}
	c := comparison{defs: whole.Defs, beyond: map[string]bool{}}
	for _, name := range beyond {
		c.beyond[name] = false
	}
	top := &whole
	if at != "" {
		top = whole.Defs[at]
	}
	if top == nil {
		return []string{fmt.Sprintf("the schema has no definition %q", at)}
	}
	c.compare("", top, read)
	for _, name := range slices.Sorted(maps.Keys(c.beyond)) {
		if !c.beyond[name] {
			c.fault(name, "is no field beyond the schema")
		}
	}
	return c.found
}

type comparison struct {
	defs   map[string]*schema
	beyond map[string]bool // whether there is such a field
	found  []string
}

func (c *comparison) fault(path, format string, args ...any) {
	c.found = append(c.found, path+": "+fmt.Sprintf(format, args...))
}

// options gives what a value of the schema may be, but null.
func (c *comparison) options(s *schema) []*schema {
	if s.Ref != "" {
		return c.options(c.defs[strings.TrimPrefix(s.Ref, "#/$defs/")])
	}
	if len(s.AnyOf)+len(s.OneOf) == 0 {
		if s.Type == "null" {
			return nil
		}
		return []*schema{s}
	}
	var all []*schema
	for _, option := range slices.Concat(s.AnyOf, s.OneOf) {
		all = append(all, c.options(option)...)
	}
	return all
}

var (
	text = reflect.TypeFor[encoding.TextUnmarshaler]()
	own  = reflect.TypeFor[json.Unmarshaler]()
)

func (c *comparison) compare(path string, s *schema, read reflect.Type) {
	for read.Kind() == reflect.Pointer {
		read = read.Elem()
	}
	if reflect.PointerTo(read).Implements(own) { // which knows of its own what it reads
		return
	}
	options := c.options(s)
	if read.Kind() == reflect.Struct && !reflect.PointerTo(read).Implements(text) {
		c.compareStruct(path, options, read)
		return
	}
	for _, option := range options {
		if want := jsonType(read); !fits(option.Type, want) {
			c.fault(path, "is %s, read as %s", option.Type, want)
		} else if option.Type == "array" {
			c.compare(path, option.Items, read.Elem())
		}
	}
}

// compareStruct compares a struct with objects that it may be read from.
func (c *comparison) compareStruct(path string, options []*schema, read reflect.Type) {
	for _, option := range options {
		if option.Type != "object" {
			c.fault(path, "is %s, read as object", option.Type)
			return
		}
	}
	for _, field := range reflect.VisibleFields(read) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		known := 0
		for _, option := range options {
			if property := option.Properties[name]; property != nil {
				c.compare(at, property, field.Type)
				c.compareBounds(at, property, field)
				known++
			}
		}
		if _, ok := c.beyond[at]; ok && known == 0 {
			c.beyond[at] = true
		} else if known == 0 {
			c.fault(at, "plans have no such key (field %s of %s)", field.Name, read)
		}
	}
}

// compareBounds compares the bounds that plans have for a number with those that the field's tag max says, from 0.
func (c *comparison) compareBounds(path string, s *schema, field reflect.StructField) {
	if s.Minimum == nil && s.Maximum == nil {
		return
	}
	highest, err := strconv.ParseFloat(field.Tag.Get("max"), 64)
	if err != nil || s.Minimum == nil || *s.Minimum != 0 || s.Maximum == nil || *s.Maximum != highest {
		c.fault(path, "has other bounds than those that are read: 0 to %s", cmp.Or(field.Tag.Get("max"), "any"))
	}
}

func fits(is, read string) bool {
	return is == read || is == "integer" && read == "number"
}

func jsonType(read reflect.Type) string {
	if reflect.PointerTo(read).Implements(text) {
		return "string"
	}
	switch read.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map:
		return "object"
	}
	return "integer"
}

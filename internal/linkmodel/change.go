package linkmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Change is a change of some properties; the others stay as they are. Of those that replace each other the one
// that is set does so. As JSON it is an object of the properties that it sets.
type Change struct {
	set []string // keys, in the order of properties
	to  Properties
}

// ParseChange reads a change from a JSON object, refusing properties that it does not know and values that
// mean nothing. The error names the property.
func ParseChange(text []byte) (Change, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var keys map[string]json.RawMessage
	if err := decoder.Decode(&keys); err != nil {
		return Change{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Change{}, errors.New("more than one JSON value")
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(Keys(), key) {
			return Change{}, fmt.Errorf("%q: no such property, want some of %s", key, strings.Join(Keys(), ", "))
		}
	}
	c := Change{}
	decoder = json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c.to); err != nil {
		return Change{}, err
	}
	for _, p := range properties {
		if value, ok := keys[p.key]; ok && string(value) != "null" {
			c.set = append(c.set, p.key)
		}
	}
	return c, c.validate()
}

// MarshalJSON writes what is set.
func (c Change) MarshalJSON() ([]byte, error) {
	set := map[string]any{}
	for _, p := range c.properties() {
		set[p.key] = p.of(&c.to).Interface()
	}
	return json.Marshal(set)
}

// Apply returns the properties after the change.
func (p Properties) Apply(c *Change) Properties {
	changed := c.properties()
	for _, one := range changed {
		for _, other := range properties {
			if one.group != "" && one.group == other.group {
				other.of(&p).SetZero()
			}
		}
	}
	for _, one := range changed {
		one.of(&p).Set(one.of(&c.to))
	}
	return p
}

// properties are those that are set.
func (c *Change) properties() []property {
	var set []property
	for _, p := range properties {
		if slices.Contains(c.set, p.key) {
			set = append(set, p)
		}
	}
	return set
}

// validate tells whether every value of the change means something; the error names the property.
func (c *Change) validate() error {
	groups := map[string]int{}
	for _, p := range c.properties() {
		value := p.of(&c.to)
		if err := p.check(p.key, value); err != nil {
			return err
		}
		if p.group != "" && !value.IsZero() {
			groups[p.group]++
		}
		if groups[p.group] > 1 {
			return fmt.Errorf("%s: want one of them", strings.Join(keysOf(p.group), ", "))
		}
	}
	if slices.Contains(c.set, "queue") {
		return c.to.Queue.validate()
	}
	return nil
}

func keysOf(group string) []string {
	var keys []string
	for _, p := range properties {
		if p.group == group {
			keys = append(keys, p.key)
		}
	}
	return keys
}

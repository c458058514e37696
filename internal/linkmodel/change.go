package linkmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Change is a change of some properties; the others stay as they are. Of those that replace each other the one
// that is set does so. As JSON it is an object of the properties that it sets.
type Change struct {
	set []string // keys, in the order of properties
	to  Properties
}

// UnmarshalJSON reads an object of properties, refusing those that it does not know and values that mean nothing. The
// error names the property.
func (c *Change) UnmarshalJSON(text []byte) error {
	if err := c.Decode(text, nil); err != nil {
		return err
	}
	return c.Validate()
}

// Decode reads an object of properties without checking their values. Of others, further keys that the object may have,
// each is decoded into what it points to. The error names the key.
func (c *Change) Decode(text []byte, others map[string]any) error {
	*c = Change{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	opening, err := decoder.Token()
	switch {
	case err != nil || opening == nil: // nil is JSON's null, which changes nothing
		return err
	case opening != json.Delim('{'):
		return fmt.Errorf("%.20s: want an object of properties", text)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		key := token.(string) // as every key of an object is
		if into, ok := others[key]; ok {
			err = decoder.Decode(into)
		} else {
			err = c.decodeProperty(key, decoder)
		}
		if err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// decodeProperty reads a property's value; null leaves the property as it is.
func (c *Change) decodeProperty(key string, decoder *json.Decoder) error {
	at := slices.IndexFunc(properties, func(p property) bool { return p.key == key })
	if at < 0 {
		return fmt.Errorf("%q: no such property, want some of %s", key, strings.Join(Keys(), ", "))
	}
	field := properties[at].of(&c.to)
	value := reflect.New(reflect.PointerTo(field.Type()))
	if err := decoder.Decode(value.Interface()); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s: %s, want %s", strings.TrimSuffix(key+"."+wrong.Field, "."), wrong.Value, wrong.Type)
		}
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return err // the caller knows the line
		}
		return fmt.Errorf("%s: %w", key, err)
	}
	if value = value.Elem(); !value.IsNil() {
		field.Set(value.Elem())
		c.add(key)
	}
	return nil
}

// add puts a key among those that are set.
func (c *Change) add(key string) {
	set := c.set
	c.set = nil
	for _, p := range properties {
		if p.key == key || slices.Contains(set, p.key) {
			c.set = append(c.set, p.key)
		}
	}
}

// With returns the change with those of the properties that are not zero.
func (c Change) With(p Properties) Change {
	for _, one := range properties {
		if value := one.of(&p); !value.IsZero() {
			one.of(&c.to).Set(value)
			c.add(one.key)
		}
	}
	return c
}

// InWholeBPS returns the change with its rate as [WholeBPS] has it.
func (c Change) InWholeBPS() Change {
	c.to.RateBPS = WholeBPS(c.to.RateBPS)
	return c
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

// Validate returns what is wrong with a value of the change; the error names the property.
func (c *Change) Validate() error { return c.to.validate(c.properties()) }

// Validate returns what is wrong with a property; the error names it.
func (p *Properties) Validate() error {
	var set []property
	for _, one := range properties {
		if !one.of(p).IsZero() {
			set = append(set, one)
		}
	}
	return p.validate(set)
}

func (p *Properties) validate(these []property) error {
	groups := map[string]int{}
	for _, one := range these {
		value := one.of(p)
		if err := one.check(one.key, value); err != nil {
			return err
		}
		if one.group != "" && !value.IsZero() {
			groups[one.group]++
		}
		if groups[one.group] > 1 {
			return fmt.Errorf("%s: want one of them", strings.Join(keysOf(one.group), ", "))
		}
	}
	return p.Queue.validate()
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

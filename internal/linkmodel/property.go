package linkmodel

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// property is a field of [Properties], or of a struct in one, as its tags describe it.
type property struct {
	key      string
	index    []int
	min, max float64 // numbers are 0 or from min to max
	words    []string
	group    string // of those that replace each other
}

// properties are all, in the order of their fields.
var properties = propertiesOf(reflect.TypeFor[Properties]())

// Keys are the names of all properties in JSON.
func Keys() []string {
	keys := make([]string, len(properties))
	for i, p := range properties {
		keys[i] = p.key
	}
	return keys
}

func propertiesOf(of reflect.Type) []property {
	var all []property
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := property{key: key, index: field.Index, group: field.Tag.Get("oneof")}
		p.min, p.max = number(field, "min"), number(field, "max")
		if words, ok := field.Tag.Lookup("words"); ok {
			p.words = strings.Split(words, ", ")
		}
		all = append(all, p)
	}
	return all
}

// number is a tag's.
func number(field reflect.StructField, tag string) float64 {
	text, ok := field.Tag.Lookup(tag)
	if !ok {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %s: %v", field.Name, tag, err))
	}
	return value
}

// of is the property's field of some properties, to read and to set.
func (p *property) of(all *Properties) reflect.Value {
	return reflect.ValueOf(all).Elem().FieldByIndex(p.index)
}

// check reports whether a value means something; the error begins with its name.
func (p *property) check(name string, value reflect.Value) error {
	switch value.Kind() {
	case reflect.Float64:
		return p.checkNumber(name, value.Float(), 0)
	case reflect.Int:
		return p.checkNumber(name, float64(value.Int()), 0)
	case reflect.Slice:
		for i := range value.Len() {
			if err := p.checkNumber(fmt.Sprintf("%s[%d]", name, i), value.Index(i).Float(), -p.max); err != nil {
				return err
			}
		}
	case reflect.String:
		if !slices.Contains(p.words, value.String()) {
			return fmt.Errorf("%s: %q, want one of %s", name, value.String(), strings.Join(p.words, ", "))
		}
	case reflect.Pointer:
		for _, part := range propertiesOf(value.Type().Elem()) {
			if err := part.check(name+"."+part.key, value.Elem().FieldByIndex(part.index)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *property) checkNumber(name string, value, from float64) error {
	if !(value >= from && value <= p.max) {
		return fmt.Errorf("%s: %v, want a number from %g to %g", name, value, from, p.max)
	}
	if value > 0 && value < p.min {
		return fmt.Errorf("%s: %v, want 0 for no limit, or at least %g", name, value, p.min)
	}
	return nil
}

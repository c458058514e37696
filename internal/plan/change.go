package plan

import (
	"ncp-testbed/internal/linkmodel"
)

// Change is a change of a link as a plan or a request has it: properties, and names of files that have some. A fault
// of its JSON is kept for [Change.Resolve], which is called where the change's place in the plan is known.
type Change struct {
	change linkmodel.Change
	files  Files
	fault  error
}

// UnmarshalJSON reads an object of properties and of the keys of [Files].
func (c *Change) UnmarshalJSON(text []byte) error {
	c.fault = c.change.Decode(text, map[string]any{"trace_file": &c.files.TraceFile, "jitter_file": &c.files.JitterFile})
	return nil
}

// Resolve returns the change with what its files have, relative to the directory. The error begins with the key.
func (c *Change) Resolve(directory string) (linkmodel.Change, error) {
	if c.fault != nil {
		return linkmodel.Change{}, c.fault
	}
	var found linkmodel.Properties
	if err := c.files.read(directory, &found); err != nil {
		return linkmodel.Change{}, err
	}
	change := c.change.With(found)
	return change.InWholeBPS(), change.Validate()
}

package push

import (
	"log"
	"regexp"
	"strings"
)

// journal writes the first message of each kind, so that what repeats with
// every batch or every try takes one line.
type journal struct {
	out  *log.Logger
	said map[string]bool
}

const (
	maxKinds        = 50
	maxMessageBytes = 300
)

func newJournal(out *log.Logger) *journal { return &journal{out, map[string]bool{}} }

// variable is what differs between messages of a kind: quoted texts, numbers.
var variable = regexp.MustCompile(`'[^']*'|"(\\.|[^"\\])*"|\d+`)

func (j *journal) once(message string) {
	message, _, _ = strings.Cut(message, "\n")
	kind := variable.ReplaceAllLiteralString(message, "…")
	if j.said[kind] || len(j.said) == maxKinds {
		return
	}
	j.said[kind] = true
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "") + "…"
	}
	j.out.Print(message)
}

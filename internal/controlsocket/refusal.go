package controlsocket

import (
	"errors"
	"fmt"
	"net/http"
)

// Codes of refusals, by which programs decide.
const (
	CodeInvalid  = "request.invalid"  // what it says is wrong
	CodeUnknown  = "request.unknown"  // it names something that is not there
	CodeConflict = "request.conflict" // it is not possible in this state
	CodeFailed   = "request.failed"   // the kernel, or a disk, refused it
)

var statuses = map[string]int{
	CodeInvalid: http.StatusBadRequest, CodeUnknown: http.StatusNotFound, CodeConflict: http.StatusConflict,
	CodeFailed: http.StatusInternalServerError,
}

// Refusal is why a request was not carried out, and the body of the answer.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`

	cause error
}

func (r *Refusal) Error() string { return r.Message }

func (r *Refusal) Unwrap() error { return r.cause }

// Refused returns a refusal with a code.
func Refused(code, format string, arguments ...any) error {
	err := fmt.Errorf(format, arguments...)
	return &Refusal{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Refuse answers with the code of the refusal that an error is or wraps, else
// with CodeFailed.
func Refuse(w http.ResponseWriter, err error) {
	code := CodeFailed
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		code = refusal.Code
	}
	write(w, statuses[code], Refusal{Code: code, Message: err.Error()})
}

package forwarder

import (
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// Types of the management protocol's parameters and answers
// (https://redmine.named-data.net/projects/nfd/wiki/ControlCommand).
const (
	typeControlResponse   = 0x65
	typeStatusCode        = 0x66
	typeStatusText        = 0x67
	typeControlParameters = 0x68
	typeFaceID            = 0x69
	typeCost              = 0x6a
	typeFlags             = 0x6c
	typeOrigin            = 0x6f
	typeName              = 0x07
)

const (
	statusOK       = 200
	statusBad      = 400
	statusFull     = 503
	flagChildMatch = 1
)

// commandPrefixes are the names under which a peer may manage its routes.
var commandPrefixes = []packet.Name{mustName("/localhost/nfd/rib"), mustName("/localhop/nfd/rib")}

func mustName(uri string) packet.Name {
	name, err := packet.ParseName(uri)
	if err != nil {
		panic(err)
	}
	return name
}

// command answers an Interest that registers or withdraws a prefix; false
// when it is none. Whoever reaches the forwarder may register: signatures are
// not checked.
func (f *Forwarder) command(face int, i *packet.Interest, token string) bool {
	for _, prefix := range commandPrefixes {
		if !i.Name.HasPrefix(prefix) {
			continue
		}
		verb, rest, _ := i.Name[len(prefix):].First()
		parameters, _, _ := rest.First()
		code, body := f.manage(face, verb.Value, []byte(parameters.Value))
		f.answer(face, i.Name, token, code, body)
		return true
	}
	return false
}

// manage does what a command says and returns the answer's code and parameters.
func (f *Forwarder) manage(face int, verb string, parameters []byte) (code uint64, body []byte) {
	prefix, ok := commandName(parameters)
	switch {
	case !ok:
		return statusBad, nil
	case verb == "register":
		if !f.routes.register(prefix, face) {
			return statusFull, nil
		}
	case verb == "unregister":
		f.routes.unregister(prefix, face)
	default:
		return statusBad, nil
	}
	body = tlv.Append(nil, typeName, prefix)
	body = tlv.AppendUint(body, typeFaceID, uint64(face)+1)
	body = tlv.AppendUint(body, typeOrigin, 0)
	if verb == "register" {
		body = tlv.AppendUint(body, typeCost, 0)
		body = tlv.AppendUint(body, typeFlags, flagChildMatch)
	}
	return statusOK, tlv.Append(nil, typeControlParameters, body)
}

// commandName reads the prefix out of a command's parameters.
func commandName(component []byte) (packet.Name, bool) {
	kind, value, rest, err := tlv.Element(component)
	if err != nil || kind != typeControlParameters || len(rest) > 0 {
		return "", false
	}
	for len(value) > 0 {
		var part []byte
		if kind, part, value, err = tlv.Element(value); err != nil {
			return "", false
		}
		if kind == typeName {
			name, err := packet.DecodeName(part)
			return name, err == nil
		}
	}
	return "", false
}

func (f *Forwarder) answer(face int, name packet.Name, token string, code uint64, body []byte) {
	text := map[uint64]string{statusOK: "OK", statusBad: "no such command", statusFull: "too many routes"}[code]
	response := tlv.AppendUint(nil, typeStatusCode, code)
	response = tlv.Append(response, typeStatusText, text)
	response = append(response, body...)
	data := packet.Data{Name: name, Content: tlv.Append(nil, typeControlResponse, response)}
	f.send(face, lp.Packet{Network: data.Append(nil), PitToken: token})
}

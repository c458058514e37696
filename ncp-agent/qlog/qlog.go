// Package qlog writes the events of a session as qlog: a JSON text sequence of the
// main schema of QUIC's qlog drafts. The events are this project's
// own: schemas/qlog.schema.json. Times count from the session's own start, so
// that the same run in virtual time gives the same bytes.
package qlog

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/wire"
)

// Schema names the events.
const Schema = "urn:ncp-testbed:qlog:events:ncp-1"

// Names say whose trace it is.
type Names struct {
	Scenario, Session, Role string
	Dials                   bool
}

// Writer is the tracer of one session; the first error of writing is kept, and
// given by Close.
type Writer struct {
	to          io.WriteCloser
	out         *bufio.Writer
	line        []byte // reused
	state       session.State
	connections []metrics
	err         error
}

// metrics are what is written of a connection when it has changed.
type metrics struct {
	windowMilli int64 // packets
	inFlight    int
	rtt, rto    time.Duration
}

// Create begins the trace of a session in a file.
func Create(file string, n Names) (*Writer, error) {
	to, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	return New(to, n), nil
}

// New begins the trace of a session.
func New(to io.WriteCloser, n Names) *Writer {
	w := &Writer{to: to, out: bufio.NewWriterSize(to, 64<<10)}
	vantage := "server"
	if n.Dials {
		vantage = "client"
	}
	type object = map[string]any
	text, err := json.Marshal(object{
		"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq",
		"qlog_format": "JSON-SEQ", "qlog_version": "0.3", // of older drafts, which readers still ask for
		"title": n.Scenario,
		"trace": object{
			"event_schemas": []string{Schema},
			"vantage_point": object{"name": n.Session + "-" + n.Role, "type": vantage},
			"common_fields": object{
				"time_format":    "relative_to_epoch",
				"reference_time": object{"clock_type": "monotonic", "epoch": "unknown"},
				"group_id":       n.Session,
			},
		},
	})
	w.line, w.err = append(append(w.line, '\x1e'), text...), err
	w.end("")
	return w
}

// Close writes the rest.
func (w *Writer) Close() error {
	for _, err := range []error{w.out.Flush(), w.to.Close()} {
		if w.err == nil {
			w.err = err
		}
	}
	return w.err
}

// Sent is of session.Tracer, as are the following.
func (w *Writer) Sent(now time.Duration, conn int, p *wire.Packet, again bool) {
	w.begin(now, "packet_sent", conn)
	w.packet(p)
	if again {
		w.text(`,"is_resend":true`)
	}
	w.end("}}")
}

func (w *Writer) Received(now time.Duration, conn int, p *wire.Packet) {
	w.begin(now, "packet_received", conn)
	w.packet(p)
	w.end("}}")
}

func (w *Writer) Refused(now time.Duration, conn int, sequence uint32) {
	w.begin(now, "packet_refused", conn)
	w.number(`,"sequence":`, uint64(sequence))
	w.end("}}")
}

func (w *Writer) Lost(now time.Duration, conn int, sequence uint32) {
	w.begin(now, "packet_lost", conn)
	w.number(`,"sequence":`, uint64(sequence))
	w.end("}}")
}

func (w *Writer) Dropped(now time.Duration, conn int, p *wire.Packet, reason error) {
	w.begin(now, "packet_dropped", conn)
	w.number(`,"sequence":`, uint64(p.Sequence))
	w.text(`,"reason":`)
	w.quoted(reason.Error())
	w.end("}}")
}

func (w *Writer) Now(now time.Duration, state session.State, connections []session.ConnectionStats) {
	if state != w.state {
		w.state = state
		w.name(now, "session_state_updated")
		w.text(`{"new":"` + state.String() + `"`)
		w.end("}}")
	}
	for i := range connections {
		c := &connections[i]
		m := metrics{int64(c.WindowPackets * 1000), c.InFlightPackets, c.RTT, c.RTO}
		if i == len(w.connections) {
			w.connections = append(w.connections, metrics{})
		}
		if m == w.connections[i] {
			continue
		}
		w.connections[i] = m
		w.begin(now, "metrics_updated", i)
		w.text(`,"window":`)
		w.fraction(m.windowMilli, 1000)
		w.number(`,"in_flight":`, uint64(m.inFlight))
		if m.rtt > 0 {
			w.text(`,"smoothed_rtt":`)
			w.ms(m.rtt)
		}
		w.text(`,"rto":`)
		w.ms(m.rto)
		w.end("}}")
	}
}

// packet writes what there is in a packet.
func (w *Writer) packet(p *wire.Packet) {
	w.text(`,"packet":{`)
	first := len(w.line)
	if p.Sequence > 0 {
		w.number(`,"sequence":`, uint64(p.Sequence))
		w.number(`,"data_length":`, uint64(len(p.Data)))
	}
	if ranges, err := p.AckRanges(); err == nil && ranges > 0 {
		w.text(`,"acked_ranges":[`)
		for i := range ranges {
			start, count := p.AckRange(i)
			if i > 0 {
				w.text(",")
			}
			w.number("[", uint64(start))
			w.number(",", uint64(start)+uint64(max(count, 1))-1)
			w.text("]")
		}
		w.text("]")
	}
	if p.BytesRead > 0 {
		w.number(`,"bytes_read":`, p.BytesRead)
	}
	if p.Handshake {
		w.number(`,"handshake":{"window":`, uint64(p.WindowBytes))
		w.number(`,"mtu":`, uint64(p.MTUBytes))
		w.text(`,"client_ids":[`)
		for i, id := range p.ClientIDs {
			if i > 0 {
				w.text(",")
			}
			w.quoted(id)
		}
		w.text("]}")
	}
	if p.Close {
		w.text(`,"close":true`)
	}
	if len(w.line) > first { // the first has no comma before it
		w.line = append(w.line[:first], w.line[first+1:]...)
	}
	w.text("}")
}

// name begins an event, up to its data.
func (w *Writer) name(now time.Duration, event string) {
	w.line = append(w.line[:0], "\x1e{\"time\":"...)
	w.ms(now)
	w.text(`,"name":"ncp:` + event + `","data":`)
}

// begin begins an event of a connection.
func (w *Writer) begin(now time.Duration, event string, conn int) {
	w.name(now, event)
	w.number(`{"connection":`, uint64(conn+1))
}

// end writes the event.
func (w *Writer) end(text string) {
	w.text(text)
	w.line = append(w.line, '\n')
	if w.err == nil {
		_, w.err = w.out.Write(w.line)
	}
}

func (w *Writer) text(t string) { w.line = append(w.line, t...) }

func (w *Writer) number(before string, n uint64) {
	w.line = strconv.AppendUint(append(w.line, before...), n, 10)
}

func (w *Writer) quoted(t string) {
	text, _ := json.Marshal(t) // a string can always be written
	w.line = append(w.line, text...)
}

// ms writes a time in milliseconds, to the nanosecond.
func (w *Writer) ms(d time.Duration) { w.fraction(int64(d), 1e6) }

// fraction writes n/unit, where unit is a power of ten and n not negative.
func (w *Writer) fraction(n, unit int64) {
	w.line = strconv.AppendInt(w.line, n/unit, 10)
	rest := n % unit
	if rest == 0 {
		return
	}
	w.line = append(w.line, '.')
	for rest > 0 {
		unit /= 10
		w.line = append(w.line, byte('0'+rest/unit))
		rest %= unit
	}
}

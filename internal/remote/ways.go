package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"time"

	"ncp-testbed/internal/clocksync"
	"ncp-testbed/internal/controlsocket"
)

// measurement is the body of a request for the way from this machine to another one with hosts of the run.
type measurement struct {
	To         netip.AddrPort `json:"to"`
	Key        uint64         `json:"key"`
	Packets    int            `json:"packets"`
	IntervalMS int            `json:"interval_ms"`
	MTU        int            `json:"mtu"`
	File       string         `json:"file"` // of a watch: its name in the run's folder
}

// mostPackets bounds what one request waits for.
const mostPackets = 1000

// answerTime is how long a packet's answer may take.
const answerTime = time.Second

// watched is a way that is being measured.
type watched struct {
	stop  context.CancelFunc
	ended chan error
}

func decodeMeasurement(r *http.Request) (measurement, clocksync.Options, error) {
	var a measurement
	if err := controlsocket.Decode(r, &a); err != nil {
		return a, clocksync.Options{}, err
	}
	if a.IntervalMS < 1 || a.IntervalMS > 10_000 {
		return a, clocksync.Options{}, controlsocket.Refused(controlsocket.CodeInvalid, "interval_ms: %d, want 1 to 10000", a.IntervalMS)
	}
	return a, clocksync.Options{
		To: a.To, Key: a.Key, Packets: a.Packets, MTU: a.MTU,
		Interval: time.Duration(a.IntervalMS) * time.Millisecond, Timeout: answerTime,
	}, nil
}

// measure answers with the samples; with none where packets of that size don't leave this machine.
func (m *Machine) measure(r *http.Request) (any, error) {
	a, options, err := decodeMeasurement(r)
	if err != nil {
		return nil, err
	}
	if a.Packets < 1 || a.Packets > mostPackets {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "packets: %d, want 1 to %d", a.Packets, mostPackets)
	}
	all := []clocksync.Sample{}
	err = clocksync.Measure(r.Context(), options, func(s clocksync.Sample) { all = append(all, s) })
	if errors.Is(err, clocksync.ErrTooLarge) {
		return []clocksync.Sample{}, nil
	}
	return all, err
}

// watch writes samples to a file, a line each, until it is ended.
func (m *Machine) watch(r *http.Request) (any, error) {
	a, options, err := decodeMeasurement(r)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(m.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Create(a.File)
	if err != nil {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "file: %w", err)
	}
	options.Packets = 0
	ctx, stop := context.WithCancel(context.Background())
	w := watched{stop, make(chan error, 1)}
	go func() {
		out := json.NewEncoder(file)
		var failed error
		err := clocksync.Measure(ctx, options, func(s clocksync.Sample) { failed = errors.Join(failed, out.Encode(s)) })
		w.ended <- errors.Join(err, failed, file.Close())
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = append(m.watches, w)
	return map[string]any{}, nil
}

// endWatches returns when all samples are written.
func (m *Machine) endWatches(*http.Request) (any, error) {
	m.mu.Lock()
	watches := m.watches
	m.watches = nil
	m.mu.Unlock()
	var failed error
	for _, w := range watches {
		w.stop()
		failed = errors.Join(failed, <-w.ended)
	}
	return map[string]any{}, failed
}

package policy

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func start(t testing.TB, name string, s Setup) Policy {
	t.Helper()
	p, err := Start(name, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func windows(p Policy, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = p.Window(i)
	}
	return out
}

func TestPreviousGrowsToItsCap(t *testing.T) {
	p := start(t, "previous", Setup{Connections: 2, SessionWindowPackets: 4096})
	for i := range 1000 {
		if want := math.Min(16+float64(i), 256); p.Window(0) != want {
			t.Fatalf("after %d acknowledgements the window is %v, want %v", i, p.Window(0), want)
		}
		p.Acked(0, Ack{})
		p.Acked(1, Ack{Resent: true})
		p.EndBatch()
	}
	if p.Window(1) != 16 {
		t.Errorf("acknowledgements of resent packets made the window %v, want 16", p.Window(1))
	}
}

// The proposal's example: 16 packets sent, 14 acknowledged, 2 timed out: 7.
func TestPreviousProposalExample(t *testing.T) {
	p := start(t, "previous", Setup{Connections: 1, SessionWindowPackets: 4096})
	for range 14 {
		p.Acked(0, Ack{})
	}
	p.TimedOut(0)
	p.TimedOut(0)
	p.EndBatch()
	if p.Window(0) != 7 {
		t.Errorf("window %v, want 7", p.Window(0))
	}
	p.WriteError(0)
	if p.Window(0) != 7 {
		t.Errorf("a write error changed the window to %v", p.Window(0))
	}
	for range 10 {
		p.TimedOut(0)
	}
	if p.Window(0) != 1 {
		t.Errorf("window %v after many timeouts, want 1", p.Window(0))
	}
}

func TestPreviousCapsALargerStart(t *testing.T) {
	p := start(t, "previous", Setup{Connections: 1, SessionWindowPackets: 4096, Initial: []float64{2048}})
	if p.Window(0) != 2048 {
		t.Errorf("window %v, want the initial one given, 2048", p.Window(0))
	}
	p.Acked(0, Ack{})
	if p.Window(0) != 256 {
		t.Errorf("window %v after an acknowledgement, want the cap, 256", p.Window(0))
	}
}

func TestNKP24Start(t *testing.T) {
	p := start(t, "nkp24", Setup{Connections: 4, SessionWindowPackets: 4096})
	if got := windows(p, 4); !slices.Equal(got, []float64{1024, 1024, 1024, 1024}) {
		t.Errorf("windows %v, want W/n each", got)
	}
	p = start(t, "nkp24", Setup{Connections: 4, SessionWindowPackets: 2})
	if got := windows(p, 4); !slices.Equal(got, []float64{1, 1, 1, 1}) {
		t.Errorf("windows %v, want at least one packet each", got)
	}
	p = start(t, "nkp24", Setup{Connections: 2, SessionWindowPackets: 4096, Initial: []float64{4095, 1}})
	if got := windows(p, 2); !slices.Equal(got, []float64{4095, 1}) {
		t.Errorf("windows %v, want the initial windows given", got)
	}
}

func TestNKP24OneBatch(t *testing.T) {
	p := start(t, "nkp24", Setup{Connections: 2, SessionWindowPackets: 100})
	for range 50 {
		p.Acked(0, Ack{})
	}
	p.Acked(1, Ack{Resent: true})
	p.EndBatch() // 100 and 50 scaled to a sum of 100
	if math.Abs(p.Window(0)-100*100/150.) > 1e-9 || math.Abs(p.Window(1)-100*50/150.) > 1e-9 {
		t.Errorf("windows %v, want 66.67 and 33.33", windows(p, 2))
	}
	p.WriteError(0)
	p.EndBatch() // 33.33 and 33.33
	if math.Abs(p.Window(0)-50) > 1e-9 {
		t.Errorf("windows %v after a write error, want 50 and 50", windows(p, 2))
	}
}

func TestNKP24Halves(t *testing.T) {
	p := start(t, "nkp24", Setup{Connections: 2, SessionWindowPackets: 100})
	p.TimedOut(0)
	p.WriteError(1)
	if got := windows(p, 2); !slices.Equal(got, []float64{25, 25}) {
		t.Errorf("windows %v, want half of 50 each", got)
	}
	for range 9 {
		p.TimedOut(0)
		p.WriteError(1)
	}
	if got := windows(p, 2); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("windows %v, want at least one packet each", got)
	}
}

func TestStartRefuses(t *testing.T) {
	for name, setup := range map[string]Setup{
		"reno":          {Connections: 1, SessionWindowPackets: 1},
		"nkp24":         {Connections: 2, SessionWindowPackets: 4096, Initial: []float64{1}},
		"previous":      {Connections: 1, SessionWindowPackets: 4096, Initial: []float64{math.NaN()}},
		"delivery-rate": {SessionWindowPackets: 4096},
	} {
		if _, err := Start(name, setup); err == nil {
			t.Errorf("%s with %+v started", name, setup)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
	}
	_, err := Start("nkp24", Setup{Connections: 2, SessionWindowPackets: 4096, Initial: []float64{1, 0.5}})
	if err == nil || err.Error() != "policy nkp24: initial window 2 is 0.5 packets, want at least 1" {
		t.Errorf("a window that is too small: %v", err)
	}
}

func TestKnown(t *testing.T) {
	same(t, "known", Known("nkp24"), true)
	same(t, "known", Known("reno"), false)
}

func TestCapabilities(t *testing.T) {
	for name, want := range map[string]struct{ pacer, scheduler, chooser bool }{
		"previous": {}, "nkp24": {}, "delivery-rate": {true, true, false},
		"minrtt": {true, false, true}, "blest": {true, false, true}, "ecf": {true, false, true},
	} {
		c := CapabilitiesOf(start(t, name, Setup{Connections: 1, SessionWindowPackets: 100}))
		if c.Pacer != nil != want.pacer || c.Recovery != nil != want.pacer || c.Scheduler != nil != want.scheduler || c.Chooser != nil != want.chooser {
			t.Errorf("%s brings %+v", name, c)
		}
	}
}

func TestDescriptions(t *testing.T) {
	buf, err := json.Marshal(Describe())
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(buf, &list); err != nil {
		t.Fatal(err)
	}
	caps := map[any]any{"previous": 256.0, "nkp24": nil}
	for name, want := range caps {
		i := slices.IndexFunc(list, func(d map[string]any) bool { return d["name"] == name })
		if i < 0 || list[i]["cap_packets"] != want || list[i]["rule"] == "" {
			t.Errorf("%v is described as %v, want a cap of %v", name, list, want)
		}
	}
}

package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/test/testnet"
)

// point is a line of line protocol.
type point struct {
	measurement  string
	tags, fields map[string]string
}

func (p point) number(t *testing.T, field string) (value float64) {
	t.Helper()
	if _, err := fmt.Sscan(p.fields[field], &value); err != nil {
		t.Fatalf("%s: %q in %v", field, p.fields[field], p)
	}
	return value
}

func readSpool(t *testing.T, path string) (points []point) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := lineprotocol.NewDecoderWithBytes(text); d.Next(); {
		p := point{tags: map[string]string{}, fields: map[string]string{}}
		name, err := d.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		p.measurement = string(name)
		for key, value, _ := d.NextTag(); key != nil; key, value, _ = d.NextTag() {
			p.tags[string(key)] = string(value)
		}
		for key, value, _ := d.NextField(); key != nil; key, value, _ = d.NextField() {
			p.fields[string(key)] = fmt.Sprint(value.Interface())
		}
		points = append(points, p)
	}
	return points
}

// last returns the last point of a measurement with these tags.
func last(t *testing.T, points []point, measurement string, tags map[string]string) point {
	t.Helper()
	for _, p := range slices.Backward(points) {
		matches := p.measurement == measurement
		for key, value := range tags {
			matches = matches && p.tags[key] == value
		}
		if matches {
			return p
		}
	}
	t.Fatalf("no %s with %v", measurement, tags)
	return point{}
}

// collectFor runs the collectors while f does something, and gives the folder of the spools.
func collectFor(t *testing.T, list *watch.List, f func()) (string, []Result) {
	t.Helper()
	directory := t.TempDir()
	list.Run, list.Scenario = "r", "s"
	ctx, cancel := context.WithCancel(t.Context())
	type outcome struct {
		results []Result
		err     error
	}
	done := make(chan outcome)
	go func() {
		results, err := Run(ctx, list, directory, io.Discard)
		done <- outcome{results, err}
	}()
	f()
	cancel()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	return directory, got.results
}

// The end of a link that sends faster than HTB lets it: queue and counters are as tc and ip tell them.
func TestInterfacesAndQueues(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "fast"})
	h1 := n.Hosts["h1"]
	for _, command := range [][]string{
		{"tc", "qdisc", "add", "dev", "h1-eth1", "root", "handle", "1:", "htb", "default", "1"},
		{"tc", "class", "add", "dev", "h1-eth1", "parent", "1:", "classid", "1:1", "htb", "rate", "800kbit", "burst", "3000"},
		{"tc", "qdisc", "add", "dev", "h1-eth1", "parent", "1:1", "handle", "10:", "pfifo", "limit", "20"},
	} {
		n.In(t, h1, command...)
	}
	list := &watch.List{
		IntervalMS: 50, TCPIntervalMS: 50,
		Namespaces: map[string]string{"h1": testnet.Path(h1), "fabric": testnet.Path(n.Fabric)},
		Interfaces: []watch.Interface{
			{Host: "h1", Interface: "h1-eth1", Link: "fast", Direction: "ab"},
			{Host: "fabric", Interface: "l1a", Link: "fast", Direction: "ba"},
		},
	}
	directory, results := collectFor(t, list, func() {
		err := netns.Within(testnet.Path(h1), func() error {
			c, err := net.Dial("udp", testnet.Address(1, 2)+":9")
			if err != nil {
				return err
			}
			defer c.Close()
			for range 100 {
				if _, err := c.Write(make([]byte, 1000)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond) // until the queue is empty, and a second is over
	})
	points := readSpool(t, filepath.Join(directory, "interfaces.lp"))
	var told []struct {
		Kind, Handle            string
		Bytes, Packets          float64
		Drops, Overlimits, Qlen float64
	}
	if err := json.Unmarshal([]byte(n.In(t, h1, "tc", "-s", "-j", "qdisc", "show", "dev", "h1-eth1")), &told); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 {
		t.Fatalf("tc tells %+v", told)
	}
	for _, q := range told {
		p := last(t, points, "qdisc", map[string]string{"host": "h1", "kind": q.Kind, "handle": q.Handle})
		for field, want := range map[string]float64{
			"bytes": q.Bytes, "packets": q.Packets, "drops": q.Drops, "overlimits": q.Overlimits, "backlog_packets": q.Qlen,
		} {
			if got := p.number(t, field); got != want {
				t.Errorf("%s %s: %s %v, tc says %v", q.Kind, q.Handle, field, got, want)
			}
		}
		if q.Drops == 0 {
			t.Errorf("%s: nothing was dropped, so nothing is told here", q.Kind)
		}
	}
	held := 0.0
	for _, p := range points {
		if p.measurement == "qdisc" && p.tags["handle"] == "10:" {
			held = max(held, p.number(t, "backlog_bytes"))
		}
	}
	if held < 10000 || held > 20*1042 {
		t.Errorf("the queue of 20 frames of 1042 bytes held up to %v bytes", held)
	}
	class := last(t, points, "qdisc", map[string]string{"handle": "1:1"})
	if class.number(t, "rate_bps") != 800000 || class.number(t, "packets") == 0 {
		t.Errorf("class %v", class)
	}
	here := last(t, points, "interface", map[string]string{"host": "h1", "interface": "h1-eth1", "link": "fast", "direction": "ab"})
	there := last(t, points, "interface", map[string]string{"host": "fabric", "interface": "l1a", "direction": "ba"})
	if here.number(t, "sent_packets") == 0 || here.fields["sent_packets"] != there.fields["received_packets"] ||
		here.fields["sent_bytes"] != there.fields["received_bytes"] {
		t.Errorf("h1-eth1 %v, l1a %v", here, there)
	}
	for _, p := range points {
		if p.tags["run"] != "r" || p.tags["scenario"] != "s" || p.tags["kind"] == "noqueue" {
			t.Errorf("%v", p)
		}
	}
	cost := last(t, points, "collector", map[string]string{"collector": "interfaces"})
	if cost.number(t, "cpu") <= 0 || cost.number(t, "samples") < 5 {
		t.Errorf("cost %v", cost)
	}
	if len(results) != 1 || results[0].Errors != 0 || results[0].Points != len(points) || results[0].CPUS <= 0 {
		t.Errorf("results %+v of %d points", results, len(points))
	}
}

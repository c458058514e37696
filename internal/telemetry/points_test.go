package telemetry

import (
	"math"
	"testing"
	"time"
)

func TestPointsAreLineProtocol(t *testing.T) {
	var p Points
	tags := MakeTags(map[string]string{"session": "s 1", "run": "a=b,c", "empty": ""})
	p.Add("ncp", tags, time.Unix(1, 5), Float("window", 2048), Float("nan", math.NaN()), Int("sent", 7), Text("text", `a "b"`))
	lines, n, err := p.Take()
	want := `ncp,run=a\=b\,c,session=s\ 1 window=2048,sent=7i,text="a \"b\"" 1000000005` + "\n"
	if err != nil || n != 1 || string(lines) != want {
		t.Errorf("%d points %q, %v; want %q", n, lines, err, want)
	}
}

package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// client writes to InfluxDB's v1 API.
type client struct {
	http        http.Client
	endpoint    string
	credentials Credentials
}

func newClient(cfg Config, credentials Credentials) *client {
	query := url.Values{"db": {cfg.Database}, "precision": {"ns"}}
	return &client{
		endpoint:    strings.TrimSuffix(cfg.URL, "/") + "/write?" + query.Encode(),
		credentials: credentials,
		// No proxy: InfluxDB is reached over the run's own network.
		http: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute}},
	}
}

// rejection says that InfluxDB refused some or all points of a batch for what
// they are, so that writing them again would change nothing.
type rejection struct {
	points int
	reason string
}

func (r *rejection) Error() string {
	return fmt.Sprintf("InfluxDB rejected %d points: %s", r.points, r.reason)
}

// write sends one batch. A *rejection is final, any other error is worth
// another try: what InfluxDB has got already it takes again as the same points.
func (c *client) write(ctx context.Context, lines []byte, points int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(lines))
	if err != nil {
		return err
	}
	request.SetBasicAuth(c.credentials.Username, c.credentials.Password)
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case response.StatusCode/100 == 2:
		return nil
	case response.StatusCode == http.StatusBadRequest:
		return rejected(text, points)
	default:
		return fmt.Errorf("InfluxDB answered %s: %s", response.Status, reason(text))
	}
}

var dropped = regexp.MustCompile(`dropped=(\d+)`)

// rejected reads how many points InfluxDB 1.x dropped out of its answer: of a
// partial write "dropped=N", and one "unable to parse" for each line that it
// could not read; of any other bad request all.
func rejected(text []byte, points int) error {
	why := reason(text)
	if !strings.Contains(why, "partial write") {
		return &rejection{points, why}
	}
	n := strings.Count(why, "unable to parse")
	if m := dropped.FindStringSubmatch(why); m != nil {
		if d, err := strconv.Atoi(m[1]); err == nil {
			n += d
		}
	}
	return &rejection{min(n, points), why}
}

// reason gives the error that InfluxDB's answer names, or the answer itself.
func reason(text []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return strings.TrimSpace(string(text))
}

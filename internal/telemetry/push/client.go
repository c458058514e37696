package push

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ncp-testbed/internal/telemetry"
)

// client writes to InfluxDB's v1 API.
type client struct {
	http        http.Client
	endpoint    string
	credentials telemetry.Credentials
}

func newClient(cfg telemetry.Config, credentials telemetry.Credentials) *client {
	query := url.Values{"db": {cfg.Database}, "precision": {"ns"}}
	return &client{
		endpoint:    strings.TrimSuffix(cfg.URL, "/") + "/write?" + query.Encode(),
		credentials: credentials,
		// No proxy: InfluxDB is reached over the run's own network.
		http: http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute}},
	}
}

// requestTimeout bounds one write, so that a connection that hangs does not
// use up the time to drain.
const requestTimeout = 5 * time.Second

// maxAnswerBytes is more than InfluxDB's answer to the largest batch: it
// repeats each line that it could not read.
const maxAnswerBytes = 4 * maxBatchBytes

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
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	switch {
	case response.StatusCode/100 == 2:
		return nil
	case err != nil:
		return fmt.Errorf("reading InfluxDB's answer: %w", err)
	case response.StatusCode == http.StatusBadRequest:
		return rejected(reason(text), lines, points)
	case response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("InfluxDB does not know user %q with this password, see the credentials file: %s", c.credentials.Username, reason(text))
	case response.StatusCode == http.StatusForbidden:
		return fmt.Errorf("user %q may not write to the database, it wants GRANT WRITE: %s", c.credentials.Username, reason(text))
	default:
		return fmt.Errorf("InfluxDB answered %s: %s", response.Status, reason(text))
	}
}

// reason returns the error that InfluxDB's answer names, or the answer itself.
func reason(text []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return strings.TrimSpace(string(text))
}

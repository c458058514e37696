// Package telemetry makes points and keeps them: a component appends them to a
// spool file first and is never held up. Package push takes them from there to
// InfluxDB; when InfluxDB is away the spool is the queue.
package telemetry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"time"
)

// Config is the plan's part about telemetry.
type Config struct {
	IntervalMS float64 `json:"interval_ms"`
	URL        string  `json:"url"` // of InfluxDB, without path
	Database   string  `json:"database"`
}

// Interval is the time between two samples.
func (c Config) Interval() time.Duration {
	return time.Duration(c.IntervalMS * float64(time.Millisecond))
}

// maxIntervalMS is an hour, far above what a run samples by.
const maxIntervalMS = 3_600_000

// Validate returns what is wrong with what every plan has of telemetry; file names the plan.
func (c Config) Validate(file string) error {
	if !(c.IntervalMS >= 1 && c.IntervalMS <= maxIntervalMS) {
		return fmt.Errorf("%s: telemetry.interval_ms: %v, want 1 to %d milliseconds", file, c.IntervalMS, maxIntervalMS)
	}
	return nil
}

// ValidateDatabase returns what is wrong with where points are pushed to; file names the plan.
func (c Config) ValidateDatabase(file string) error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: telemetry.url: %q, want one like http://198.19.0.1:8086", file, c.URL)
	}
	if c.Database == "" {
		return fmt.Errorf("%s: telemetry.database: empty, want the name of a database", file)
	}
	return nil
}

// Counts are those of the points of a pusher's spools:
// Points = Pushed + Rejected + what InfluxDB could not be given in time.
type Counts struct {
	Points   int `json:"points"`
	Pushed   int `json:"pushed"`
	Rejected int `json:"rejected"`
}

// Credentials let a component write to InfluxDB.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// ReadCredentials reads {"username": "", "password": ""} from a file.
func ReadCredentials(file string) (Credentials, error) {
	var c Credentials
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: not the JSON it should be: %w", file, err)
	}
	if c.Username == "" {
		return c, fmt.Errorf("%s: username: empty, want InfluxDB's user", file)
	}
	return c, nil
}

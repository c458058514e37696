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

// ValidateInterval says what is wrong with the plan's interval; file names the plan.
func (c Config) ValidateInterval(file string) error {
	if !(c.IntervalMS >= 1 && c.IntervalMS <= maxIntervalMS) {
		return fmt.Errorf("%s: telemetry.interval_ms: %v, want 1 to %d milliseconds", file, c.IntervalMS, maxIntervalMS)
	}
	return nil
}

// Validate says what is wrong with the plan's telemetry; file names the plan.
func (c Config) Validate(file string) error {
	if err := c.ValidateInterval(file); err != nil {
		return err
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: telemetry.url: %q, want one like http://198.19.0.1:8086", file, c.URL)
	}
	if c.Database == "" {
		return fmt.Errorf("%s: telemetry.database: empty, want the name of a database", file)
	}
	return nil
}

// planned is what a plan has of it.
type planned struct {
	Telemetry Config `json:"telemetry"`
}

// ReadPlan reads the telemetry part of a plan. Errors name file, field and value.
func ReadPlan(file string) (Config, error) {
	var plan planned
	if err := readJSON(file, &plan); err != nil {
		return Config{}, err
	}
	return plan.Telemetry, plan.Telemetry.Validate(file)
}

// Counts tell what became of the points of a pusher's spools:
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
	if err := readJSON(file, &c); err != nil {
		return c, err
	}
	if c.Username == "" {
		return c, fmt.Errorf("%s: username: empty, want InfluxDB's user", file)
	}
	return c, nil
}

// OptionalCredentials are those of a file, or nil without its name: then
// nothing is pushed.
func OptionalCredentials(file string) (*Credentials, error) {
	if file == "" {
		return nil, nil
	}
	c, err := ReadCredentials(file)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: not the JSON it should be: %w", file, err)
	}
	return nil
}

package controlsocket

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Client makes requests on a control socket.
type Client struct{ http http.Client }

// NewClient returns one for the socket at a path.
func NewClient(path string) *Client {
	return &Client{http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}}
}

// Close gives connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do makes a request, such as POST /set?link=k, with a body as JSON and reads
// the answer, either of which may be nil. The error is a [Refusal] if the server
// refused.
func (c *Client) Do(ctx context.Context, method, target string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://control"+target, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		refusal := &Refusal{Code: CodeFailed}
		if json.Unmarshal(whole, refusal) != nil || refusal.Message == "" {
			refusal.Message = fmt.Sprintf("%s: %s", response.Status, bytes.TrimSpace(whole))
		}
		return refusal
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(whole, answer)
}

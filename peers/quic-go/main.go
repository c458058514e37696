// Command quic-go sends over one QUIC stream, as docs/program.md asks of a program. It has one path, the first link.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	protocol     = "ncp-testbed-program/1"
	notSupported = 127
	chunk        = 64 << 10
	most         = 64 << 20 // what either end may have unread: a link's rate is to be the limit, not a window
)

type link struct {
	Local, Remote string
	Port          int
}

type task struct {
	Role, Testcase, Payload, Out string
	Links                        []link
	Bytes                        int64
	Seconds                      float64
}

type result struct {
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Started  int64  `json:"started_unix_ns"`
	Finished int64  `json:"finished_unix_ns"`
	Version  string `json:"version"`
}

// transfer is what one end has sent or got so far.
type transfer struct {
	hash    hash.Hash
	bytes   int64
	started time.Time
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(os.Getenv("IN"), "task.json"))
	if err != nil {
		return err
	}
	var asked task
	if err := json.Unmarshal(text, &asked); err != nil {
		return err
	}
	if asked.Testcase != "transfer" && asked.Testcase != "seconds" {
		os.Exit(notSupported)
	}
	t := &transfer{hash: sha256.New(), started: time.Now()}
	if asked.Role == "sender" {
		return t.send(ctx, asked)
	}
	return t.receive(ctx, asked)
}

func config() *quic.Config {
	return &quic.Config{
		MaxIdleTimeout:                 10 * time.Second,
		InitialStreamReceiveWindow:     most,
		MaxStreamReceiveWindow:         most,
		InitialConnectionReceiveWindow: most,
		MaxConnectionReceiveWindow:     most,
	}
}

func (t *transfer) send(ctx context.Context, asked task) error {
	payload, err := os.ReadFile(asked.Payload)
	if err != nil {
		return err
	}
	path := asked.Links[0]
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(path.Local)})
	if err != nil {
		return err
	}
	to := &net.UDPAddr{IP: net.ParseIP(path.Remote), Port: path.Port}
	// Who it talks to is not the question.
	insecure := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13}
	connection, err := quic.Dial(ctx, socket, to, insecure, config())
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	for more := true; more; more = asked.Testcase == "seconds" && time.Since(t.started).Seconds() < asked.Seconds {
		if err := t.write(stream, payload, asked); err != nil {
			return err
		}
	}
	if err := stream.Close(); err != nil {
		return err
	}
	// The receiver closes its side when it has it all.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return err
	}
	if err := t.finish(asked); err != nil {
		return err
	}
	return connection.CloseWithError(0, "")
}

func (t *transfer) write(stream io.Writer, payload []byte, asked task) error {
	for len(payload) > 0 {
		if asked.Testcase == "seconds" && time.Since(t.started).Seconds() >= asked.Seconds {
			return nil
		}
		part := payload[:min(chunk, len(payload))]
		payload = payload[len(part):]
		if _, err := stream.Write(part); err != nil {
			return err
		}
		t.hash.Write(part)
		t.bytes += int64(len(part))
	}
	return nil
}

func (t *transfer) receive(ctx context.Context, asked task) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	path := asked.Links[0]
	address := fmt.Sprintf("%s:%d", path.Local, path.Port)
	own := &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}
	listener, err := quic.ListenAddr(address, own, config())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(asked.Out, "ready"), nil, 0o644); err != nil {
		return err
	}
	connection, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	stream, err := connection.AcceptStream(ctx)
	if err != nil {
		return err
	}
	if t.bytes, err = io.CopyBuffer(t.hash, stream, make([]byte, chunk)); err != nil {
		return err
	}
	if err := t.finish(asked); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	select { // until the sender has seen it
	case <-connection.Context().Done():
	case <-time.After(5 * time.Second):
	}
	return nil
}

func (t *transfer) finish(asked task) error {
	text, err := json.Marshal(result{
		t.bytes, hex.EncodeToString(t.hash.Sum(nil)), t.started.UnixNano(), time.Now().UnixNano(), version(),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(asked.Out, "result.json"), text, 0o644)
}

// version is that of quic-go, as it was built in.
func version() string {
	built, _ := debug.ReadBuildInfo()
	for _, module := range built.Deps {
		if module.Path == "github.com/quic-go/quic-go" {
			return "quic-go " + module.Version
		}
	}
	return ""
}

func selfSigned() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, public, private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

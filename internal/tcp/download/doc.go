// Package download is one object over one TCP connection: a server that reports how long the kernel took until
// everything was acknowledged, and a client that checks what it got.
package download

package endpoint

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ncp-testbed/ncp-agent/session"
)

// A TCP connection that breaks is opened again: the end that dialled it dials
// anew, the other one accepts. Meanwhile the session goes on over the others;
// without any for as long as noConnection it has failed.
const (
	reopenPause  = 100 * time.Millisecond // before a connection that broke is opened again
	noConnection = 5 * time.Second        // after which a session has failed
)

// breaks counts a connection's.
type breaks struct {
	count int
	last  error
}

func (b breaks) String() string {
	if b.count == 1 {
		return fmt.Sprintf("broke, %v", b.last)
	}
	return fmt.Sprintf("broke %d times, at last %v", b.count, b.last)
}

// Broken describes the connections that broke before the session's end.
func (d *Driver) Broken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, l := range d.links {
		if l.breaks.count > 0 {
			all = append(all, fmt.Sprintf("connection %d %v", l.index+1, l.breaks))
		}
	}
	return all
}

// broke notes that a connection's socket can't go on.
func (d *Driver) broke(l *link, s socket, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.socket != s {
		return // the other goroutine was first
	}
	l.socket = nil
	if d.session.State() == session.Closed || d.stopping() || d.left(err) {
		l.left = true
		s.close() // the peer has ended too
		return
	}
	s.abort()
	d.session.Break(d.now(), l.index)
	l.breaks.count++
	l.breaks.last = err
	d.notify()
	if !d.connected() {
		made, patience := d.made, d.patience
		time.AfterFunc(patience, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.made == made && !d.stopping() {
				d.fail(fmt.Errorf("no connection for %v: connection %d %v", patience, l.index+1, l.breaks))
			}
		})
	}
}

// left reports whether a connection that ended so need not be opened again: the
// peer has ended it in order, after a close that left nothing unacknowledged.
// The close may have come over another connection first. The lock is held.
func (d *Driver) left(err error) bool {
	return errors.Is(err, io.EOF) && d.session.State() == session.Closing && d.session.Unacknowledged() == 0
}

// connected reports whether any connection has a socket. The lock is held.
func (d *Driver) connected() bool {
	for _, l := range d.links {
		if l.socket != nil {
			return true
		}
	}
	return false
}

// reopen tries to make a connection's socket, and reports whether the session
// goes on.
func (d *Driver) reopen(l *link) bool {
	d.mu.Lock()
	again, over := l.breaks.count > 0, l.left || d.session.State() == session.Closed
	d.mu.Unlock()
	if over {
		return false
	}
	if again {
		select {
		case <-time.After(reopenPause):
		case <-d.life.Done():
			return false
		}
	}
	s, err := l.opener.open(d.life, func(error) {})
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.stopping():
		if err == nil {
			s.close()
		}
		return false
	case err != nil:
		// Its address may be taken, say; the others go on, and so does this.
		l.breaks.count++
		l.breaks.last = fmt.Errorf("opening: %w", err)
		return true
	}
	d.attach(l, s)
	d.notify()
	return true
}

// attach sets a connection's socket. The lock is held.
func (d *Driver) attach(l *link, s socket) {
	l.socket = s
	d.made++
	d.session.Restore(d.now(), l.index)
}

func (d *Driver) socketOf(l *link) socket {
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.socket
}

// closeWrite says that no packet will follow on a connection.
func (d *Driver) closeWrite(l *link) {
	if s := d.socketOf(l); s != nil {
		s.closeWrite()
	}
}

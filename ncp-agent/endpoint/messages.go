package endpoint

import "context"

// WriteMessage hands b to the session as one message, waiting for room. It
// gives session.ErrMessage for one that is too large.
func (d *Driver) WriteMessage(ctx context.Context, b []byte) error {
	for {
		d.mu.Lock()
		taken, err := d.session.WriteMessage(d.now(), b)
		if taken {
			d.notify() // only then: room for a part of the message would wake this again
		}
		d.mu.Unlock()
		if taken || err != nil {
			return err
		}
		if err := d.wait(ctx, d.writable); err != nil {
			return err
		}
	}
}

// ReadMessage reads one message into b, waiting for it. One that is longer
// than b stays, with io.ErrShortBuffer.
func (d *Driver) ReadMessage(ctx context.Context, b []byte) (int, error) {
	return d.read(ctx, b, d.session.ReadMessage)
}

package probe

import (
	"context"
	"fmt"
	"time"
)

const (
	delayPackets = 100
	delaySpacing = 5 * time.Millisecond
	// Loss is measured with small packets, to have many of them.
	lossPackets      = 4000
	lossPacketsPerMS = 2
	// sendBufferTime is how far the blast runs ahead of the link: enough never to leave it idle, little
	// enough to be gone soon, and never so much that the shaper's queue (1 MB and more) drops of it.
	sendBufferTime     = 100 * time.Millisecond
	sendBufferPackets  = 8
	maxSendBufferBytes = 400_000
	// packetMemoryBytes is above what the kernel charges for a packet beside its bytes.
	packetMemoryBytes = 1280
)

// delays sends small packets that are far enough apart never to wait for each other.
func (d *direction) delays(ctx context.Context) error {
	if d.to.receivedCount(stepHello) == 0 {
		return nil
	}
	payload := make([]byte, packetBytes)
	spacing := max(delaySpacing, 4*d.sentFrame(headerBytes+packetBytes))
	if err := d.from.stampSends(true); err != nil {
		return err
	}
	for i := range delayPackets {
		if err := d.from.send(d.destination, payload, stepDelay, uint64(i)); err != nil {
			return err
		}
		d.sent[stepDelay]++
		if err := sleep(ctx, spacing); err != nil {
			return err
		}
	}
	if err := d.settle(ctx, stepDelay); err != nil {
		return err
	}
	d.stamps = d.from.sent()
	return d.from.stampSends(false)
}

// blast sends full frames as fast as the host's shaper takes them. Where the link is shaped in the middle
// nothing holds the host back, so there it sends a half more than the rate.
func (d *direction) blast(ctx context.Context, duration time.Duration) error {
	frame := d.sentFrame(d.frameBytes)
	if frame == 0 || d.to.receivedCount(stepHello) == 0 {
		return nil
	}
	ahead := max(sendBufferPackets, int(sendBufferTime/frame))
	if err := d.from.conn.SetWriteBuffer(min(maxSendBufferBytes, ahead*(d.frameBytes+packetMemoryBytes))); err != nil {
		return err
	}
	spacing := frame * 2 / 3
	if d.link.ShapedAtHosts() {
		spacing = 0
	}
	payload := make([]byte, d.frameBytes-headerBytes)
	frames := d.burstFrames() + max(2*sendBufferPackets, int(duration/frame))
	if err := d.sendAll(ctx, stepRate, payload, frames, spacing); err != nil {
		return fmt.Errorf("frame of %d bytes: %w", d.frameBytes, err)
	}
	return d.settle(ctx, stepRate)
}

// losses sends small packets where loss is asked for, at most at half of the rate.
func (d *direction) losses(ctx context.Context, duration time.Duration) error {
	if d.middle.MeanLoss() == 0 || d.to.receivedCount(stepHello) == 0 {
		return nil
	}
	spacing := max(time.Millisecond/lossPacketsPerMS, 2*d.sentFrame(headerBytes+packetBytes))
	packets := min(lossPackets, int(duration/spacing))
	if err := d.sendAll(ctx, stepLoss, make([]byte, packetBytes), packets, spacing); err != nil {
		return err
	}
	return d.settle(ctx, stepLoss)
}

// sendAll sends packets at their times, or as fast as the socket takes them.
func (d *direction) sendAll(ctx context.Context, step byte, payload []byte, packets int, spacing time.Duration) error {
	begun := time.Now()
	for i := range packets {
		if ahead := time.Until(begun.Add(time.Duration(i) * spacing)); ahead > 0 {
			if err := sleep(ctx, ahead); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := d.from.send(d.destination, payload, step, uint64(i)); err != nil {
			return err
		}
		d.sent[step]++
	}
	return nil
}

// burstFrames is how many frames the shaper lets through at once after idling.
func (d *direction) burstFrames() int {
	burst := d.link.BurstBytes
	if !d.link.ShapedAtHosts() {
		burst = d.middle.BurstBytes
	}
	return (burst+d.frameBytes-1)/d.frameBytes + 1
}

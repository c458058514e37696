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
	if answers, err := d.answers(); !answers {
		return err
	}
	spacing := max(delaySpacing, 4*d.sentFrame(headerBytes+packetBytes))
	sent, err := d.send(ctx, Batch{
		Step: stepDelay, Packets: delayPackets, PayloadBytes: packetBytes, Spacing: spacing, Stamped: true,
	})
	d.stamps = sent.Stamps
	if err != nil {
		return err
	}
	return d.settle(ctx, stepDelay)
}

// blast sends full frames as fast as the host's shaper takes them. Where the link is shaped in the middle
// nothing holds the host back, so there it sends a half more than the rate.
func (d *direction) blast(ctx context.Context, duration time.Duration) error {
	frame := d.sentFrame(d.frameBytes)
	if answers, err := d.answers(); !answers || frame == 0 {
		return err
	}
	ahead := max(sendBufferPackets, int(sendBufferTime/frame))
	spacing := time.Duration(float64(frame) / aboveRate)
	if d.link.ShapedAtHosts() {
		spacing = 0
	}
	_, err := d.send(ctx, Batch{
		Step: stepRate, Packets: d.burstFrames() + max(2*sendBufferPackets, int(duration/frame)),
		PayloadBytes: d.frameBytes - headerBytes, Spacing: spacing,
		SendBufferBytes: min(maxSendBufferBytes, ahead*(d.frameBytes+packetMemoryBytes)),
	})
	if err != nil {
		return fmt.Errorf("frame of %d bytes: %w", d.frameBytes, err)
	}
	return d.settle(ctx, stepRate)
}

// aboveRate is how much faster than its rate frames are sent into a link that is shaped in the middle.
const aboveRate = 1.5

// blastedPerSecond is the number of frames a second that measuring the rate sends; 0 without a rate.
func (d *direction) blastedPerSecond() float64 {
	frames := d.link.RateBPS / float64(8*d.frameBytes)
	if !d.link.ShapedAtHosts() {
		frames *= aboveRate
	}
	return frames
}

// losses sends small packets where the plan has loss, at most at half of the rate.
func (d *direction) losses(ctx context.Context, duration time.Duration) error {
	if answers, err := d.answers(); !answers || d.middle.MeanLoss() == 0 {
		return err
	}
	spacing := max(time.Millisecond/lossPacketsPerMS, 2*d.sentFrame(headerBytes+packetBytes))
	packets := min(lossPackets, int(duration/spacing))
	if _, err := d.send(ctx, Batch{Step: stepLoss, Packets: packets, PayloadBytes: packetBytes, Spacing: spacing}); err != nil {
		return err
	}
	return d.settle(ctx, stepLoss)
}

// stuck is how much longer than by rate and spacing a batch may take, until its end is taken for dead.
const stuck = 30 * time.Second

// send sends a batch to the direction's end, and counts it.
func (d *direction) send(ctx context.Context, b Batch) (Sent, error) {
	b.To = d.destination
	planned := time.Duration(b.Packets) * (b.Spacing + d.sentFrame(headerBytes+b.PayloadBytes))
	ctx, cancel := context.WithTimeout(ctx, 2*planned+stuck)
	defer cancel()
	sent, err := d.from.send(ctx, b)
	d.sent[b.Step] += sent.Packets
	return sent, err
}

// burstFrames is how many frames the shaper lets through at once after idling.
func (d *direction) burstFrames() int {
	burst := d.link.BurstBytes
	if !d.link.ShapedAtHosts() {
		burst = d.middle.BurstBytes
	}
	return (burst+d.frameBytes-1)/d.frameBytes + 1
}

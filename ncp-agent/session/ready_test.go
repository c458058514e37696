package session

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"testing"

	"ncp-testbed/ncp-agent/policy"
)

// packetsOf is the hash of all packets of a transfer over two unlike paths, and of when they were sent. With ask, Ready
// is called for every connection at every step, and must be true where NextPacket then gives a packet.
func packetsOf(t *testing.T, name string, seed uint64, ask bool) [sha256.Size]byte {
	cfg := Default("1", "2", "3")
	cfg.Policy, cfg.WindowBytes = name, 128<<10
	lines := func() []path {
		return []path{
			{pps: 2000, delay: 5 * ms, queue: 2, loss: 0.01}, {pps: 300, delay: 80 * ms, jitter: 20 * ms, queue: 2, loss: 0.02},
			{pps: 300, delay: 40 * ms, queue: 1},
		}
	}
	w := newWorld(t, seed, cfg, cfg, lines(), lines())
	w.checkReady = ask
	var sum hash.Hash = sha256.New()
	w.sees = func(end, conn int, packet []byte) {
		for _, n := range []uint64{uint64(w.now), uint64(end), uint64(conn)} {
			sum.Write(binary.BigEndian.AppendUint64(nil, n))
		}
		sum.Write(packet)
	}
	there := &transfer{t: t, from: w.ends[0], to: w.ends[1]}
	const total = 1 << 20
	w.app = func() { // which has more to send again and again
		there.total = min(total, int(w.now/(50*ms))*40_000)
		there.step(w.now)
	}
	w.onStep = func() {
		for _, s := range w.ends {
			for conn := range s.conns {
				if ask {
					s.Ready(w.now, conn)
				}
			}
		}
	}
	if !w.run(60*1000*ms, func() bool { return there.total == total && there.done() }) {
		t.Fatalf("%d of %d bytes arrived", there.read, there.total)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

func TestAskingWhetherAPacketIsReadyChangesNothing(t *testing.T) {
	for _, name := range policy.Names() {
		for seed := range uint64(3) {
			if packetsOf(t, name, seed, true) != packetsOf(t, name, seed, false) {
				t.Errorf("%s, seed %d: other packets where Ready is called", name, seed)
			}
		}
	}
}

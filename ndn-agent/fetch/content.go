package fetch

import "ncp-testbed/ndn-agent/packet"

// maxAhead bounds how many segments beyond the first missing one are requested
// for, and so what waits in memory behind a gap.
const maxAhead = 8192

// maxWaitingBytes bounds the same, whatever size the segments have.
const maxWaitingBytes = 128 << 20

// finish learns how many segments there are; those beyond are dropped.
func (f *Fetcher) finish(last packet.Component) {
	final, ok := last.Number(packet.ComponentSegment)
	if !ok || f.hasFinal || final < f.delivered {
		return
	}
	f.final, f.hasFinal = final, true
	for segment := range f.requests {
		if segment > final {
			delete(f.requests, segment)
		}
	}
	kept := f.retransmit[:0]
	for _, segment := range f.retransmit {
		if segment <= final {
			kept = append(kept, segment)
		}
	}
	f.retransmit = kept
	for segment, content := range f.waiting {
		if segment > final {
			f.waitingBytes -= len(content)
			delete(f.waiting, segment)
		}
	}
}

// store delivers what is in order and keeps the rest.
func (f *Fetcher) store(segment uint64, content []byte) {
	if segment != f.delivered {
		f.waiting[segment] = append([]byte(nil), content...)
		f.waitingBytes += len(content)
		return
	}
	for ok := true; ok; content, ok = f.waiting[f.delivered] {
		if f.delivered != segment {
			delete(f.waiting, f.delivered)
			f.waitingBytes -= len(content)
		}
		if err := f.deliver(content); err != nil {
			f.fail(err)
			return
		}
		f.delivered++
	}
	if f.hasFinal && f.delivered > f.final {
		f.done = true
	}
}

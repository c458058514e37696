// What NDNts's fetcher takes for its forwarder: it joins the fetcher to one network face, without a table of pending
// Interests between them. NDNts's own forwarder makes a new packet of each Data that it passes on, without the
// congestion mark; joined this way, the fetcher gets the packet as the face read it. The fetcher's tokens travel as
// NDNLPv2 PIT tokens, which the forwarder beyond has to send back.
import { L3Face } from '@ndn/l3face';

export class Direct {
  interests = 0;

  marks = 0;

  constructor(transport) {
    this.l3face = new L3Face(transport);
  }

  addFace(rxtx) {
    this.l3face.tx(this.counted(rxtx.rx));
    rxtx.tx(this.marked(this.l3face.rx));
    return { close() {} };
  }

  async* counted(packets) {
    for await (const packet of packets) {
      if (!packet.cancel) this.interests += 1;
      yield packet;
    }
  }

  async* marked(packets) {
    for await (const packet of packets) {
      if (packet.congestionMark) this.marks += 1;
      yield packet;
    }
  }
}

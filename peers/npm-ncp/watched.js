// A session of npm's package and what passes between it and its sockets: the counts that the package doesn't keep.
'use strict';

// A number of a packet, as protobuf has it, and where it ends.
function varint(packet, at) {
  for (let [value, scale, end] = [0, 1, at]; end < packet.length; scale *= 128) {
    value += (packet[end] & 127) * scale;
    if (packet[end++] < 128) return [value, end];
  }
  return [0, packet.length];
}

// A data packet begins with its sequence, field 1 of the message, then field 2, the data; 0: no data.
function dataOf(packet) {
  if (packet[0] !== 8) return { sequence: 0, bytes: 0 };
  const [sequence, end] = varint(packet, 1);
  return { sequence, bytes: packet[end] === 18 ? varint(packet, end + 1)[0] : 0 };
}

class Watched {
  constructor({ Session, Packet }, carriers, role, planned, config) {
    Object.assign(this, { Packet, carriers, role, planned, ackedBytes: 0, refused: {} });
    const ids = this.ids = [...carriers.keys()];
    this.counts = new Map(ids.map((id) => [id, { sent: 0, resent: 0, acked: 0, lost: 0, received: 0, delivered: 0, rtt_ms: 0 }]));
    this.sent = new Map(); // data bytes by sequence, until they are acknowledged
    this.session = new Session('here', 'there', ids, role === 'sender' ? ids : [], (id, _, packet) => this.send(id, packet), config);
  }

  // Counted when the write has returned, as the package notes the packet then.
  async send(id, packet) {
    await this.carriers.get(id).send(packet);
    const { sequence, bytes } = dataOf(packet);
    if (!sequence) return;
    const counts = this.counts.get(id);
    counts.sent++;
    // What is acknowledged meanwhile was sent before, too.
    if (this.sent.has(sequence) || !this.session.sendWindowData.has(sequence)) counts.resent++;
    else this.sent.set(sequence, bytes);
  }

  receive(id, packet) {
    const { session } = this;
    if (session.isClosed) return;
    const [before, { sequence }, counts] = [session.isEstablished, dataOf(packet), this.counts.get(id)];
    const fresh = before && sequence >= session.recvWindowStartSeq && !session.recvWindowData.has(sequence);
    if (sequence) counts.received++;
    const [own, now] = [this.connectionOf(id), Date.now()];
    let [cleared, times] = [[], []];
    try {
      if (before && this.role === 'sender') cleared = this.clearedBy(packet);
      times = cleared.map((each) => own && own.timeSentSeq.get(each));
      session.receiveWith(id, this.remoteOf(id), new Uint8Array(packet));
    } catch (error) {
      const name = error.name || String(error);
      this.refused[name] = (this.refused[name] || 0) + 1;
      return;
    }
    if (sequence && fresh) counts.delivered++;
    cleared.forEach((each, i) => this.acknowledge(each, counts, times[i], now));
    if (!before && session.isEstablished) this.listen();
  }

  // The sequences in flight that a packet acknowledges.
  clearedBy(packet) {
    const { session } = this;
    const said = this.Packet.deserializeBinary(new Uint8Array(packet));
    const [starts, counts] = [said.getAckStartSeqList(), said.getAckSeqCountList()];
    const found = new Set();
    for (let i = 0; i < Math.max(starts.length, counts.length); i++) {
      const start = starts.length ? starts[i] : 1;
      const end = Math.min(start + (counts.length ? counts[i] : 1), session.sendWindowEndSeq);
      for (let each = Math.max(start, session.sendWindowStartSeq); each < end; each++) {
        if (session.sendWindowData.has(each)) found.add(each);
      }
    }
    return [...found];
  }

  acknowledge(sequence, counts, sentMS, nowMS) {
    if (this.session.sendWindowData.has(sequence)) return;
    counts.acked++;
    this.ackedBytes += this.sent.get(sequence) || 0;
    this.sent.delete(sequence);
    if (sentMS === undefined) return;
    const rtt = nowMS - sentMS; // as the package takes it, smoothed as ncp-agent does (RFC 6298)
    counts.rtt_ms = counts.rtt_ms ? counts.rtt_ms + (rtt - counts.rtt_ms) / 8 : rtt;
  }

  // The peer's name for a connection: they are paired by their order.
  remoteOf(id) {
    return (this.session.isEstablished && this.session.remoteClientIDs[this.ids.indexOf(id)]) || id;
  }

  connectionOf(id) {
    return this.session.connections && this.session.connections.get(`${id} - ${this.remoteOf(id)}`);
  }

  // Each packet that the package takes for lost, which halves the window, is noted in resentSeq.
  listen() {
    this.ids.forEach((id, i) => {
      const [connection, counts] = [this.connectionOf(id), this.counts.get(id)];
      if (!connection) return;
      connection.resentSeq.set = function set(...of) {
        counts.lost++;
        return Map.prototype.set.apply(this, of);
      };
      if (this.role === 'sender' && this.planned.initial_windows) connection.windowSize = this.planned.initial_windows[i];
    });
  }

  // Each connection's numbers, as in ncp-agent's result.
  connections() {
    return this.ids.map((id, i) => {
      const c = this.connectionOf(id);
      return {
        index: i + 1, link: this.planned.connections[i].link, window_packets: c ? c.windowSize : 0, in_flight_packets: c ? c.timeSentSeq.size : 0,
        ...this.counts.get(id), rto_ms: c ? c.retransmissionTimeout : 0,
      };
    });
  }

  refusals() {
    return Object.entries(this.refused).map(([name, count]) => `it refused ${count} packets: ${name}`);
  }
}

module.exports = { Watched };

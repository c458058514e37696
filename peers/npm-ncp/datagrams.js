// A session's connection over UDP: each packet is a datagram. A write waits while the kernel's buffer is full.
'use strict';

const dgram = require('dgram');
const { endpoint } = require('./connections');

const RECEIVE_BUFFER_BYTES = 8 << 20; // as ncp-agent requests
const NCP_BYTES = 7; // a full packet's beside its data
const HEADERS_BYTES = 64; // Ethernet's, IP's and UDP's, with the kernel's own room
const SHARED_INFO_BYTES = 320; // struct skb_shared_info
const SKB_BYTES = 256; // struct sk_buff
const TRANSIENT = ['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN', 'EPROTO', 'ENETUNREACH', 'ENETDOWN', 'ENOBUFS']; // an earlier packet's, or of a link that is down

// What the kernel counts for a datagram: its slab, a power of two, and what describes it.
function truesize(datagram) {
  return 2 ** Math.ceil(Math.log2(datagram + HEADERS_BYTES + SHARED_INFO_BYTES)) + SKB_BYTES;
}

class Datagrams {
  constructor(plan, onPacket, { mtu_bytes }) {
    Object.assign(this, { plan, id: plan.link, onPacket, warnings: [], held: null });
    this.truesize = truesize(mtu_bytes + NCP_BYTES);
    this.socket = dgram.createSocket('udp4');
  }

  listen() { return this.open(this.plan.receiver, this.plan.sender); }

  connect() { return this.open(this.plan.sender, this.plan.receiver); }

  async open(local, remote) {
    const [here, there] = [endpoint(local), endpoint(remote)];
    await new Promise((done, failed) => {
      this.socket.once('error', failed);
      this.socket.bind(here.port, here.host, () => this.socket.connect(there.port, there.host, done));
    });
    this.socket.removeAllListeners('error');
    this.socket.on('error', (error) => { if (!TRANSIENT.includes(error.code)) throw error; });
    this.socket.on('message', (packet) => this.take(packet));
    this.sizeBuffers();
  }

  // The kernel lets a packet in while less than the buffer is held, and doubles what is requested: as ncp-agent does.
  sizeBuffers() {
    this.socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    this.granted = this.socket.getRecvBufferSize();
    if (this.granted < RECEIVE_BUFFER_BYTES / 4) {
      this.warnings.push(`receive buffer is ${this.granted} bytes, requested were ${RECEIVE_BUFFER_BYTES}: raise net.core.rmem_max`);
    }
    const packets = this.plan.send_buffer_packets;
    if (!packets) return;
    this.socket.setSendBufferSize(Math.ceil((this.truesize * (packets - 1) + this.truesize / 2) / 2));
    const holds = Math.ceil(this.socket.getSendBufferSize() / this.truesize);
    if (holds !== packets) this.warnings.push(`send buffer holds ${holds} packets of ${this.truesize} bytes, requested were ${packets}: see net.core.wmem_max`);
  }

  // Node can't leave datagrams in the kernel, so that a pause holds as many as the kernel's buffer would.
  take(packet) {
    if (!this.held) this.onPacket(this.id, packet);
    else if (this.held.length * this.truesize < this.granted) this.held.push(packet);
  }

  pause(ms) {
    this.held = this.held || [];
    clearTimeout(this.resume);
    this.resume = setTimeout(() => {
      const held = this.held;
      this.held = null;
      for (const packet of held) this.onPacket(this.id, packet);
    }, ms);
  }

  // Resolves when the kernel has taken it.
  send(packet) {
    return new Promise((done, failed) => {
      this.socket.send(packet, (error) => (error && !TRANSIENT.includes(error.code) ? failed(error) : done()));
    });
  }

  async end() { this.socket.close(); }
}

module.exports = { Datagrams };

// A session's connections over TCP: each packet after its length, 4 bytes, little endian, as nkn-tuna-session has it.
'use strict';

const net = require('net');

const HEADER_BYTES = 4;
const GRACE_MS = 1000; // how long a connection's end may take
const LISTENS_MS = 15_000; // until a receiver listens
const AGAIN_MS = 50;

function endpoint(text) {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

class Connection {
  constructor(plan, onPacket) {
    this.plan = plan;
    this.id = plan.link;
    this.onPacket = onPacket;
    this.warnings = [];
    this.connected = new Promise((done) => { this.whenConnected = done; });
  }

  // The receiver's part: resolves when it listens.
  listen() {
    const here = endpoint(this.plan.receiver);
    this.server = net.createServer((socket) => this.take(socket));
    this.server.maxConnections = 1;
    return new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(here.port, here.host, done);
    });
  }

  // The sender's part: resolves when it is connected, which it tries until the receiver listens.
  async connect() {
    const [here, there] = [endpoint(this.plan.sender), endpoint(this.plan.receiver)];
    for (const end = Date.now() + LISTENS_MS; ; await new Promise((done) => { setTimeout(done, AGAIN_MS); })) {
      const socket = net.connect({ ...there, localAddress: here.host, localPort: here.port });
      const failed = await new Promise((done) => {
        socket.once('error', done);
        socket.once('connect', () => done());
      });
      if (!failed) return this.take(socket);
      if (failed.code !== 'ECONNREFUSED' || Date.now() > end) throw failed;
    }
  }

  take(socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => {}); // the session's end is judged by what was received and acknowledged
    let rest = Buffer.alloc(0);
    socket.on('data', (data) => {
      rest = rest.length ? Buffer.concat([rest, data]) : data;
      for (let end; rest.length >= HEADER_BYTES && rest.length >= (end = HEADER_BYTES + rest.readUInt32LE()); rest = rest.subarray(end)) {
        this.onPacket(this.id, rest.subarray(HEADER_BYTES, end));
      }
    });
    this.whenConnected();
  }

  // Resolves when the connection takes more.
  async send(packet) {
    await this.connected;
    const framed = Buffer.alloc(HEADER_BYTES + packet.length);
    framed.writeUInt32LE(packet.length);
    framed.set(packet, HEADER_BYTES);
    if (!this.socket.write(framed)) {
      await new Promise((done) => { this.socket.once('drain', done); });
    }
  }

  pause(ms) {
    this.socket.pause();
    clearTimeout(this.resume);
    this.resume = setTimeout(() => { this.socket.resume(); }, ms);
  }

  async end() {
    if (this.server) this.server.close();
    if (!this.socket || this.socket.destroyed) return;
    await new Promise((done) => {
      this.socket.once('close', done);
      this.socket.end();
      setTimeout(() => { this.socket.destroy(); done(); }, GRACE_MS);
    });
  }
}

module.exports = { Connection, endpoint };

// A session's connections over TCP: each packet after its length, 4 bytes, little endian, as nkn-tuna-session has it.
'use strict';

const net = require('net');

const HEADER_BYTES = 4;
const GRACE_MS = 1000; // how long a connection's end may take

function endpoint(text) {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

class Connection {
  constructor(plan, onPacket) {
    this.plan = plan;
    this.id = plan.link;
    this.onPacket = onPacket;
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

  // The sender's part: resolves when it is connected.
  connect() {
    const [here, there] = [endpoint(this.plan.sender), endpoint(this.plan.receiver)];
    const socket = net.connect({ ...there, localAddress: here.host, localPort: here.port });
    return new Promise((done, failed) => {
      socket.once('error', failed);
      socket.once('connect', () => { this.take(socket); done(); });
    });
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

module.exports = { Connection };

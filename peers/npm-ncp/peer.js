// One end of an NCP session of a plan by npm's @nkn/ncp, with the arguments, control socket and result of ncp-agent:
//   node peer.js sender|receiver --package ncp-1.1.2 --plan FILE --session NAME --dir DIR --control SOCKET
// The implementation is used as it is published; only its public interface is called and its fields are read.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');
const { Connection } = require('./connections');
const { Control } = require('./control');

const SAMPLE_MS = 100;
const AWAIT_CLOSE_MS = 5000; // beyond the linger, as the agent waits
const CHUNK_BYTES = 64 << 10;

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
const nowNS = () => Date.now() * 1e6;

class Peer {
  constructor(role, name, plan, planned, Session) {
    this.role = role;
    this.plan = planned;
    this.sum = crypto.createHash('sha256');
    this.key = crypto.createHash('sha256').update(`${plan.seed}/${planned.name}`).digest();
    const ids = planned.connections.map((c) => c.link);
    this.connections = new Map(planned.connections.map((c) => [c.link, new Connection(c, (id, packet) => this.receive(id, packet))]));
    const config = { sessionWindowSize: planned.send_window_bytes, mtu: planned.mtu_bytes, linger: planned.linger_ms };
    const send = (id, _, packet) => this.connections.get(id).send(packet);
    this.session = new Session('here', 'there', ids, role === 'sender' ? ids : [], send, config);
    this.established = new Promise((done) => { this.whenEstablished = done; });
    this.result = {
      role, session: planned.name, implementation: name, state: 'waiting', bytes: 0, sha256: '', started_unix_ns: 0,
      finished_unix_ns: 0, duration_s: 0, goodput_bps: 0, connections: [], samples: [], refused: {}, warnings: [], error: '',
    };
  }

  // What the session says of its connections now.
  connectionsNow() {
    return [...(this.session.connections || new Map()).values()].map((c, i) => ({
      index: i + 1, link: c.localClientID, window_packets: c.windowSize, in_flight_packets: c.timeSentSeq.size,
      rto_ms: c.retransmissionTimeout,
    }));
  }

  status() {
    const { samples, ...rest } = this.result;
    return { ...rest, connections: this.connectionsNow() };
  }

  receive(id, packet) {
    if (this.session.isClosed) return;
    try {
      this.session.receiveWith(id, id, new Uint8Array(packet));
    } catch (error) {
      const name = error.name || String(error);
      this.result.refused[name] = (this.result.refused[name] || 0) + 1;
    }
    if (this.session.isEstablished) this.whenEstablished();
  }

  async open() {
    for (const connection of this.connections.values()) {
      await (this.role === 'receiver' ? connection.listen() : connection.connect());
    }
    this.result.state = 'ready';
  }

  async transfer(started) {
    if (this.role === 'sender') {
      await started;
      await this.session.dial();
    } else {
      await this.established;
      await this.session.accept();
    }
    this.result.state = 'running';
    this.result.started_unix_ns = nowNS();
    const sampling = setInterval(() => this.sample(), SAMPLE_MS);
    await (this.role === 'sender' ? this.send() : this.read());
    clearInterval(sampling);
    this.sample();
    this.finish();
    if (this.role === 'sender') await this.session.close();
    else await this.awaitClose();
    await Promise.all([...this.connections.values()].map((c) => c.end()));
  }

  // The payload is the key stream of a cipher: random, and the same for the same seed and session.
  async send() {
    const cipher = crypto.createCipheriv('aes-256-ctr', this.key, Buffer.alloc(16));
    while (this.result.bytes < this.plan.transfer_bytes) {
      const part = cipher.update(Buffer.alloc(Math.min(CHUNK_BYTES, this.plan.transfer_bytes - this.result.bytes)));
      await this.session.write(new Uint8Array(part));
      this.count(part);
    }
    while (this.session.sendBuffer.length > 0 || this.session.sendWindowStartSeq !== this.session.sendWindowEndSeq) {
      if (this.session.isClosed) throw new Error('the receiver closed the session before it had acknowledged all');
      await pause(5);
    }
  }

  async read() {
    while (this.result.bytes < this.plan.transfer_bytes) this.count(await this.session.read());
  }

  count(part) {
    this.sum.update(part);
    this.result.bytes += part.length;
  }

  async awaitClose() {
    for (const end = Date.now() + this.plan.linger_ms + AWAIT_CLOSE_MS; !this.session.isClosed; await pause(10)) {
      if (Date.now() > end) {
        this.result.warnings.push('the sender did not close the session');
        return;
      }
    }
  }

  sample() {
    const now = this.connectionsNow();
    this.result.samples.push({
      at_ms: (nowNS() - this.result.started_unix_ns) / 1e6,
      window_packets: now.map((c) => c.window_packets), rto_ms: now.map((c) => c.rto_ms),
    });
  }

  finish() {
    const r = this.result;
    r.finished_unix_ns = nowNS();
    r.sha256 = this.sum.digest('hex');
    r.duration_s = (r.finished_unix_ns - r.started_unix_ns) / 1e9;
    r.goodput_bps = r.duration_s > 0 ? (r.bytes * 8) / r.duration_s : 0;
    r.connections = this.connectionsNow();
  }
}

function refuse(message) {
  console.error(`peer.js: ${message}`);
  process.exit(2);
}

function readArguments() {
  const options = Object.fromEntries(['package', 'plan', 'session', 'dir', 'control'].map((name) => [name, { type: 'string' }]));
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const missing = Object.keys(options).filter((name) => !values[name]);
  const [role, ...more] = positionals;
  if (missing.length || more.length || !['sender', 'receiver'].includes(role)) {
    throw new Error('usage: peer.js sender|receiver --package NAME --plan FILE --session NAME --dir DIR --control SOCKET');
  }
  const plan = JSON.parse(fs.readFileSync(values.plan));
  const planned = plan.sessions.find((session) => session.name === values.session);
  if (!planned) throw new Error(`${values.plan}: sessions: none is named ${values.session}`);
  if (planned.transport !== 'tcp') throw new Error(`${values.plan}: transport: ${planned.transport}, want tcp`);
  return { role, plan, planned, ...values };
}

async function main() {
  let asked;
  try {
    asked = readArguments();
  } catch (error) {
    refuse(error.message);
  }
  const { version, name } = require(`./node_modules/${asked.package}/package.json`);
  const peer = new Peer(asked.role, `${name} ${version}`, asked.plan, asked.planned, require(asked.package).Session);
  const leave = (error) => {
    if (error) {
      peer.result.error = error.message || String(error);
      console.error(error);
    }
    peer.result.state = error ? 'failed' : 'done';
    fs.writeFileSync(path.join(asked.dir, 'result.json'), `${JSON.stringify(peer.result, null, 1)}\n`);
    process.exit(error ? 1 : 0);
  };
  process.on('SIGTERM', () => leave(new Error('stopped by SIGTERM')));
  const control = new Control(() => peer.status());
  try {
    await control.listen(asked.control);
    await peer.open();
    await peer.transfer(control.started);
  } catch (error) {
    leave(error);
  }
  leave();
}

main();

// One end of an NCP session of a plan by npm's @nkn/ncp, or by a user's package with its interface, in place of
// ncp-agent, with its arguments, control socket, result and telemetry (docs/contracts.md):
//   node agent.js sender|receiver --session NAME --plan FILE --dir DIR --control SOCKET [--credentials FILE]
// The package is used as it is published. What is counted is what passes between it and the sockets, and the fields of
// its session and connections; telemetry is left in the spool, for ncp-push.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');
const { parseArgs } = require('util');
const { performance } = require('perf_hooks');
const { Connection } = require('./connections');
const { Control, Refused } = require('./control');
const { Datagrams } = require('./datagrams');
const { Recorder } = require('./recorder');
const { Watched } = require('./watched');

const AWAIT_CLOSE_MS = 5000; // beyond the linger, as ncp-agent waits
const UNREAD_MS = 1000;
const CHUNK_BYTES = 16 << 10;
const MOST_PAUSE_MS = 600_000;
const MOST_AHEAD_MS = 2000;

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
// Unix time in whole microseconds, by a clock that nobody slews, as rates are over it.
const nowUS = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const unixNS = (us) => us * 1000;

// The package of a session's end: npm's as package.json names it, or a user's, which is beside this folder; raises where
// another one is installed, or it lacks a part.
function packageOf(code) {
  const version = code.startsWith('npm-') && code.slice('npm-'.length);
  const folder = version ? path.join(__dirname, 'node_modules', `ncp-${version}`) : path.join(__dirname, '..', code);
  const found = JSON.parse(fs.readFileSync(path.join(folder, 'package.json')));
  if (version && (found.name !== '@nkn/ncp' || found.version !== version)) {
    throw new Error(`${folder}: is ${found.name} ${found.version}, and ${code} is @nkn/ncp ${version}; npm ci --ignore-scripts`);
  }
  const { Session, Packet = require(path.join(folder, 'lib', 'pb', 'packet_pb.js')).Packet } = require(folder);
  if (!Session || !Packet) throw new Error(`${code}: exports no ${Session ? 'Packet' : 'Session'}, as @nkn/ncp has it`);
  return { Session, Packet, name: `${found.name} ${found.version}` };
}

class End {
  constructor(role, plan, planned, implementation, dir) {
    Object.assign(this, { role, plan, planned, dir });
    const receive = (id, packet) => this.receive(id, packet);
    const Carrier = planned.transport === 'tcp' ? Connection : Datagrams;
    const links = planned.connections.map((c) => c.link);
    const ids = links.map((link, i) => (links.indexOf(link) === i ? link : `${link}#${i + 1}`));
    this.carriers = new Map(planned.connections.map((c, i) => [ids[i], new Carrier({ ...c, link: ids[i] }, receive, planned)]));
    const { send_window_bytes, mtu_bytes } = (planned.offers || {})[role] || planned;
    const config = {
      sessionWindowSize: send_window_bytes, mtu: mtu_bytes, linger: planned.linger_ms,
      maxAckSeqListSize: planned.max_ack_ranges, sendAckInterval: planned.ack_interval_ms,
      checkTimeoutInterval: planned.timeout_check_ms,
    };
    this.watched = new Watched(implementation, this.carriers, role, planned, config);
    this.session = this.watched.session;
    this.established = new Promise((done) => { this.whenEstablished = done; });
    this.drained = new Promise((done) => { this.whenDrained = done; });
    this.sum = crypto.createHash('sha256');
    this.result = {
      role, session: planned.name, policy: planned.policy, implementation: implementation.name, node: process.version,
      state: 'waiting', bytes: 0, sha256: '', started_unix_ns: 0, finished_unix_ns: 0, duration_s: 0, goodput_bps: 0,
      max_reorder_bytes: 0, connections: [], telemetry: { points: 0, pushed: 0, rejected: 0 }, warnings: [], error: '',
    };
  }

  status() {
    const { state, error, role, session, started_unix_ns, warnings } = this.result;
    const bytes = role === 'sender' ? this.watched.ackedBytes : this.session.bytesRead;
    return { state, error, role, session, bytes, started_unix_ns, connections: this.watched.connections(), warnings };
  }

  receive(id, packet) {
    const before = this.session.isEstablished;
    this.watched.receive(id, packet);
    if (!before && this.session.isEstablished) {
      this.startedUS = nowUS();
      this.result.started_unix_ns = unixNS(this.startedUS);
      this.whenEstablished();
    }
    if (this.writtenAll && this.acknowledged()) this.whenDrained();
  }

  acknowledged() {
    const s = this.session;
    return s.sendBuffer.length === 0 && s.sendWindowStartSeq === s.sendWindowEndSeq;
  }

  async open() {
    for (const carrier of this.carriers.values()) {
      await (this.role === 'receiver' ? carrier.listen() : carrier.connect());
      this.result.warnings.push(...carrier.warnings);
    }
    this.result.state = 'ready';
  }

  // POST /pause-read: a connection's receiver reads nothing for a time, from then on or from a moment that is given.
  async pauseReading(query) {
    const [index, ms, at] = ['connection', 'ms', 'at_unix_ns'].map((name) => Number(query.get(name)));
    const carrier = [...this.carriers.values()][index - 1];
    const ahead = at ? (at / 1000 - nowUS()) / 1000 : 0;
    if (!carrier) throw new Refused(404, `connection ${query.get('connection')}, want 1 to ${this.carriers.size}`);
    if (!(ms >= 1 && ms <= MOST_PAUSE_MS)) throw new Refused(400, `ms=${query.get('ms')}, want 1 to ${MOST_PAUSE_MS} milliseconds`);
    if (ahead > MOST_AHEAD_MS) throw new Refused(400, `at_unix_ns: ${at}, want at most ${MOST_AHEAD_MS} ms ahead`);
    if (ahead > 0) await pause(ahead);
    carrier.pause(ms);
    return { applied_unix_ns: unixNS(nowUS()) };
  }

  async transfer(started) {
    const recorder = new Recorder(this, nowUS);
    if (this.role === 'sender') {
      await started;
      this.result.state = 'running';
      const dialled = this.session.dial();
      await Promise.race([this.established, dialled]);
      recorder.event('transfer_start', this.startedUS, `${this.planned.transfer_bytes} bytes, policy ${this.planned.policy}`);
      recorder.start();
      await dialled;
      await this.send();
      this.finish(this.watched.ackedBytes);
      recorder.event('transfer_end', this.finishedUS, 'all data is acknowledged');
      // What is acknowledged need not have been read, and a session that is closed gives nothing more.
      for (const end = Date.now() + UNREAD_MS; this.session.sendWindowUsed() > 0 && Date.now() < end;) await pause(10);
      await this.session.close();
    } else {
      await this.established;
      this.result.state = 'running';
      recorder.start();
      await this.session.accept();
      await this.read();
      this.finish(this.session.bytesRead);
      recorder.event('receive_end', this.finishedUS, 'all data is received');
      await this.awaitClose();
    }
    this.result.max_reorder_bytes = recorder.stop();
    this.result.telemetry.points = recorder.points;
    this.result.connections = this.watched.connections();
    this.result.warnings.push(...this.watched.refusals());
    await Promise.all([...this.carriers.values()].map((carrier) => carrier.end()));
  }

  // The stream that the plan's seed gives (internal/payload).
  async send() {
    const key = crypto.createHash('sha256').update(`${this.plan.seed}/${this.planned.name}`).digest();
    const stream = crypto.createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16));
    for (let left = this.planned.transfer_bytes; left > 0; left -= CHUNK_BYTES) {
      const part = stream.update(Buffer.alloc(Math.min(CHUNK_BYTES, left)));
      this.sum.update(part);
      await this.session.write(new Uint8Array(part));
    }
    this.writtenAll = true;
    if (!this.acknowledged()) await this.drained;
  }

  async read() {
    const crc32 = zlib.crc32; // newer than the oldest Node
    if (crc32) this.result.crc32 = 0;
    for (let received = 0; received < this.planned.transfer_bytes;) {
      const part = await this.session.read();
      received += part.length;
      this.sum.update(part);
      if (crc32) this.result.crc32 = crc32(part, this.result.crc32);
    }
  }

  async awaitClose() {
    for (const end = Date.now() + this.planned.linger_ms + AWAIT_CLOSE_MS; !this.session.isClosed; await pause(10)) {
      if (Date.now() > end) {
        this.result.warnings.push('the sender did not close the session');
        return;
      }
    }
  }

  finish(bytes) {
    const r = this.result;
    this.finishedUS = nowUS();
    r.finished_unix_ns = unixNS(this.finishedUS);
    r.bytes = bytes;
    r.sha256 = this.sum.digest('hex');
    r.duration_s = (this.finishedUS - this.startedUS) / 1e6;
    r.goodput_bps = r.duration_s > 0 ? (bytes * 8) / r.duration_s : 0;
  }

  leave(error) {
    if (error) this.result.error = error.message || String(error);
    const { state, ...said } = this.result;
    fs.writeFileSync(path.join(this.dir, 'result.json'), `${JSON.stringify(said, null, 1)}\n`);
    if (error) console.error(error);
    process.exit(error ? 1 : 0);
  }
}

function readArguments() {
  const needed = ['plan', 'session', 'dir', 'control'];
  const options = Object.fromEntries([...needed, 'credentials'].map((name) => [name, { type: 'string' }]));
  const { values, positionals: [role, ...more] } = parseArgs({ options, allowPositionals: true });
  if (needed.some((name) => !values[name]) || more.length || !['sender', 'receiver'].includes(role)) {
    throw new Error('usage: agent.js sender|receiver --session NAME --plan FILE --dir DIR --control SOCKET [--credentials FILE]');
  }
  const plan = JSON.parse(fs.readFileSync(values.plan));
  const planned = plan.sessions.find((session) => session.name === values.session);
  if (!planned) throw new Error(`${values.plan}: sessions: none is named ${values.session}`);
  const code = (planned.code || {})[role];
  if (!code) throw new Error(`${values.plan}: sessions: ${values.session}: the ${role} is not npm's`);
  return { ...values, role, plan, planned, code };
}

async function main() {
  let asked, implementation;
  try {
    asked = readArguments();
    implementation = packageOf(asked.code);
  } catch (error) {
    console.error(`agent.js: ${error.message}`);
    process.exit(2);
  }
  const end = new End(asked.role, asked.plan, asked.planned, implementation, asked.dir);
  process.on('SIGTERM', () => end.leave(new Error('stopped by SIGTERM')));
  process.on('uncaughtException', (error) => end.leave(error));
  const control = new Control(() => end.status(), { 'POST /pause-read': (query) => end.pauseReading(query) });
  try {
    await control.listen(asked.control);
    await end.open();
    await end.transfer(control.started);
  } catch (error) {
    end.leave(error);
  }
  end.leave();
}

main();

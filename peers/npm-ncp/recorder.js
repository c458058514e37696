// Telemetry of one end, in line protocol, with the measurements, tags and fields of ncp-agent's (ncp-agent/metrics), and
// the delay of Node's event loop.
'use strict';

const fs = require('fs');
const path = require('path');
const { monitorEventLoopDelay } = require('perf_hooks');

const SECOND_US = 1e6;
const LOOK_MS = 10; // at the event loop: what is between two looks beyond this is delay

function line(measurement, tags, fields, atUS) {
  const told = Object.entries(fields).filter(([, value]) => typeof value !== 'number' || Number.isFinite(value));
  const words = told.map(([name, value]) => `${name}=${typeof value === 'bigint' ? `${value}i` : JSON.stringify(value)}`);
  const of = Object.keys(tags).sort().map((name) => `${name}=${tags[name]}`);
  return `${[measurement, ...of].join(',')} ${words.join(',')} ${BigInt(atUS) * 1000n}\n`;
}

class Recorder {
  constructor(end, nowUS) {
    const { plan, planned, role } = end;
    Object.assign(this, { end, nowUS, past: [], points: 0, maxReorderBytes: 0 });
    this.tags = { run: plan.run, scenario: plan.scenario, session: planned.name };
    this.ofRole = { ...this.tags, role, policy: planned.policy };
    this.spool = fs.openSync(path.join(end.dir, 'telemetry.lp'), 'a');
    this.intervalUS = plan.telemetry.interval_ms * 1000;
    this.loop = monitorEventLoopDelay({ resolution: LOOK_MS });
  }

  write(...lines) {
    this.points += lines.length;
    fs.writeSync(this.spool, lines.join(''));
  }

  event(kind, atUS, text) {
    this.write(line('event', { ...this.tags, kind }, { at_s: (atUS - this.end.startedUS) / 1e6, text }, atUS));
  }

  // Samples at each whole interval of the clock. A timer may fire a part of a millisecond early, and waits again then.
  start() {
    this.loop.enable();
    let dueUS = 0;
    const look = () => {
      const now = this.nowUS();
      if (dueUS && now >= dueUS) this.sample();
      if (now >= dueUS) dueUS = now - (now % this.intervalUS) + this.intervalUS;
      this.timer = setTimeout(look, Math.ceil((dueUS - now) / 1000));
    };
    look();
  }

  stop() {
    clearTimeout(this.timer);
    this.sample();
    fs.closeSync(this.spool);
    return this.maxReorderBytes;
  }

  // The youngest sample that is a second old, or else the beginning.
  before(atUS) {
    while (this.past.length > 1 && atUS - this.past[1].atUS >= SECOND_US) this.past.shift();
    const [first] = this.past;
    if (first && atUS - first.atUS >= SECOND_US) return first;
    return { atUS: this.end.startedUS, bytes: 0, delivered: this.end.planned.connections.map(() => 0) };
  }

  sample() {
    const { watched, session, role } = this.end;
    const sender = role === 'sender';
    const atUS = this.nowUS();
    const connections = watched.connections();
    const now = {
      atUS, bytes: sender ? watched.ackedBytes : session.bytesRead,
      delivered: connections.map((c) => (sender ? c.acked : c.delivered)),
    };
    const before = this.before(atUS);
    const seconds = (atUS - before.atUS) / 1e6;
    const rose = now.delivered.map((count, i) => count - before.delivered[i]);
    const [all, windows] = [rose.reduce((a, b) => a + b, 0), connections.reduce((sum, c) => sum + c.window_packets, 0)];
    const lines = connections.map((c, i) => {
      const fields = { delivered_pps: rose[i] / seconds, delivered_share: rose[i] / all };
      if (sender) {
        Object.assign(fields, { window_packets: c.window_packets, window_share: c.window_packets / windows, rto_ms: c.rto_ms });
        for (const name of ['in_flight_packets', 'sent', 'resent', 'acked', 'lost']) fields[name] = BigInt(c[name]);
        if (c.rtt_ms > 0) fields.rtt_ms = c.rtt_ms;
      }
      return line('ncp_connection', { ...this.ofRole, connection: String(i + 1) }, fields, atUS);
    });
    const fields = { goodput_bps: ((now.bytes - before.bytes) * 8) / seconds, bytes: BigInt(now.bytes) };
    this.maxReorderBytes = Math.max(this.maxReorderBytes, session.recvWindowUsed);
    if (sender) fields.send_window_used = BigInt(session.sendWindowUsed());
    else fields.reorder_bytes = BigInt(session.recvWindowUsed);
    lines.push(line('ncp_session', this.ofRole, fields, atUS));
    if (this.loop.max > 0) {
      const [p99, max] = [this.loop.percentile(99), this.loop.max].map((ns) => Math.max(0, ns / 1e6 - LOOK_MS));
      lines.push(line('event_loop', this.ofRole, { p99_ms: p99, max_ms: max }, atUS));
      this.loop.reset();
    }
    this.write(...lines);
    this.past.push(now);
  }
}

module.exports = { Recorder };

// npm's @nkn/ncp as a program of docs/program.md: one TCP connection over each link, the package as it is published.
// PACKAGE chooses it; without it the latest of package.json.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { Connection } = require('./connections');

const NAME = process.env.PACKAGE || 'ncp-1.1.2';
const CHUNK_BYTES = 64 << 10;
const AWAIT_CLOSE_MS = 5000;
const UNREAD_MS = 500;
const NOT_SUPPORTED = 127;
const CONFIG = { sessionWindowSize: 4 << 20, mtu: 1024, linger: 1000 };

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
const nowNS = () => Date.now() * 1e6;

// The testbed's links, as the two ends of each connection.
function connectionsOf(task) {
  return task.links.map((link) => {
    const [local, remote] = [`${link.local}:${link.port}`, `${link.remote}:${link.port}`];
    return task.role === 'sender' ? { link: link.name, sender: local, receiver: remote } : { link: link.name, sender: remote, receiver: local };
  });
}

async function main() {
  const task = JSON.parse(fs.readFileSync(path.join(process.env.IN, 'task.json')));
  if (task.testcase !== 'transfer') process.exit(NOT_SUPPORTED);
  const started = nowNS();
  const sum = crypto.createHash('sha256');
  let bytes = 0;
  const { Session } = require(NAME);
  const planned = connectionsOf(task);
  const ids = planned.map((c) => c.link);
  let whenEstablished;
  const established = new Promise((done) => { whenEstablished = done; });
  let session;
  const receive = (id, packet) => {
    if (session.isClosed) return;
    try {
      session.receiveWith(id, id, new Uint8Array(packet));
    } catch (error) {
      console.error(`refused: ${error.name}`);
    }
    if (session.isEstablished) whenEstablished();
  };
  const connections = new Map(planned.map((c) => [c.link, new Connection(c, receive)]));
  session = new Session('here', 'there', ids, task.role === 'sender' ? ids : [], (id, _, packet) => connections.get(id).send(packet), CONFIG);
  for (const connection of connections.values()) await (task.role === 'receiver' ? connection.listen() : connection.connect());

  if (task.role === 'sender') {
    const payload = fs.readFileSync(task.payload);
    await session.dial();
    for (; bytes < payload.length; bytes = Math.min(payload.length, bytes + CHUNK_BYTES)) {
      await session.write(new Uint8Array(payload.subarray(bytes, bytes + CHUNK_BYTES)));
    }
    sum.update(payload);
    while (session.sendBuffer.length > 0 || session.sendWindowStartSeq !== session.sendWindowEndSeq) {
      if (session.isClosed) throw new Error('the receiver closed the session before it had acknowledged all');
      await pause(5);
    }
  } else {
    fs.writeFileSync(path.join(task.out, 'ready'), '');
    await established;
    await session.accept();
    while (bytes < task.bytes) {
      const part = await session.read();
      sum.update(part);
      bytes += part.length;
    }
  }
  const result = {
    bytes, sha256: sum.digest('hex'), started_unix_ns: started, finished_unix_ns: nowNS(),
    version: `@nkn/ncp ${require(`./node_modules/${NAME}/package.json`).version}`,
  };
  fs.writeFileSync(path.join(task.out, 'result.json'), JSON.stringify(result));
  if (task.role === 'sender') {
    // What is acknowledged need not have been read, and a session that is closed gives nothing more.
    await pause(UNREAD_MS);
    await session.close();
  } else {
    for (const end = Date.now() + AWAIT_CLOSE_MS; !session.isClosed && Date.now() < end;) await pause(10);
  }
  await Promise.all([...connections.values()].map((c) => c.end()));
  process.exit(0);
}

main().catch((error) => { console.error(error.message); process.exit(1); });

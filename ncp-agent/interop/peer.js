// One end of an NCP session by npm's @nkn/ncp over UDP, for a plan's session:
//   node peer.js receiver|sender PLAN
// It prints {"bytes", "sha256", "windows"} at its end.
'use strict';

const crypto = require('crypto');
const dgram = require('dgram');
const fs = require('fs');
const { Session } = require('@nkn/ncp');

const role = process.argv[2];
const plan = JSON.parse(fs.readFileSync(process.argv[3])).sessions[0];
const ids = plan.connections.map((c) => c.link);
const sockets = {};
const config = { sessionWindowSize: plan.send_window_bytes, mtu: plan.mtu_bytes };
const send = (id, _, buf) => new Promise((done, failed) => {
  sockets[id].send(Buffer.from(buf), (error) => (error ? failed(error) : done()));
});
const session = new Session('here', 'there', ids, role === 'sender' ? ids : [], send, config);
const sum = crypto.createHash('sha256');
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function open(connection) {
  const [here, there] = role === 'sender' ? [connection.sender, connection.receiver] : [connection.receiver, connection.sender];
  const socket = dgram.createSocket({ type: 'udp4', recvBufferSize: 8 << 20 });
  socket.on('error', () => {}); // the other end is not up yet, or gone
  socket.on('message', (message) => receive(connection.link, message));
  sockets[connection.link] = socket;
  await new Promise((done) => { socket.bind(Number(here.split(':')[1]), here.split(':')[0], done); });
  await new Promise((done) => { socket.connect(Number(there.split(':')[1]), there.split(':')[0], done); });
}

let accepted = false;

async function receive(id, message) {
  try {
    await session.receiveWith(id, id, new Uint8Array(message));
  } catch (error) {
    if (!session.isClosed) throw error;
  }
  if (role === 'receiver' && session.isEstablished && !accepted) {
    accepted = true;
    await session.accept();
    await transfer();
  }
}

async function transfer() {
  let bytes = 0;
  while (bytes < plan.transfer_bytes) {
    let part;
    if (role === 'receiver') {
      part = await session.read();
    } else {
      part = new Uint8Array(crypto.randomBytes(Math.min(65536, plan.transfer_bytes - bytes)));
      await session.write(part);
    }
    sum.update(part);
    bytes += part.length;
  }
  if (role === 'sender') {
    while (session.sendWindowStartSeq !== session.sendWindowEndSeq) await pause(20);
  }
  const windows = [...session.connections.values()].map((c) => c.windowSize);
  console.log(JSON.stringify({ bytes, sha256: sum.digest('hex'), windows }));
  if (role === 'sender') await session.close();
  await pause(1500); // for the last acknowledgements, or the close
  process.exit(0);
}

(async () => {
  for (const connection of plan.connections) await open(connection);
  console.error('listening');
  if (role === 'sender') {
    await session.dial();
    await transfer();
  }
})();

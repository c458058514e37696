// One end of an NCP session by npm's @nkn/ncp over UDP or TCP, for a plan's session:
//   node peer.js receiver|sender PLAN
// It prints {"bytes", "sha256", "windows"} at its end.
'use strict';

const crypto = require('crypto');
const dgram = require('dgram');
const fs = require('fs');
const net = require('net');
const { Session } = require('@nkn/ncp');

const role = process.argv[2];
const plan = JSON.parse(fs.readFileSync(process.argv[3])).sessions[0];
const ids = plan.connections.map((c) => c.link);
const config = { sessionWindowSize: plan.send_window_bytes, mtu: plan.mtu_bytes };
// sendOn[id] sends a packet on a connection, once that is open.
const sendOn = {};
const send = (id, _, buf) => sendOn[id](Buffer.from(buf));
const session = new Session('here', 'there', ids, role === 'sender' ? ids : [], send, config);
const sum = crypto.createHash('sha256');
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

const endpoint = (text) => ({ host: text.split(':')[0], port: Number(text.split(':')[1]) });

async function openUDP(id, here, there) {
  const socket = dgram.createSocket({ type: 'udp4', recvBufferSize: 8 << 20 });
  socket.on('error', () => {}); // the other end is not up yet, or gone
  socket.on('message', (message) => receive(id, message));
  await new Promise((done) => { socket.bind(here.port, here.host, done); });
  await new Promise((done) => { socket.connect(there.port, there.host, done); });
  sendOn[id] = (packet) => new Promise((done, failed) => {
    socket.send(packet, (error) => (error ? failed(error) : done()));
  });
}

// A TCP connection carries each packet after its length: 4 bytes, little endian.
function serve(id, socket) {
  let rest = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE()) {
      const end = 4 + rest.readUInt32LE();
      receive(id, rest.subarray(4, end));
      rest = rest.subarray(end);
    }
  });
  sendOn[id] = (packet) => new Promise((done) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(packet.length);
    if (socket.write(Buffer.concat([size, packet]))) done();
    else socket.once('drain', done);
  });
}

async function openTCP(id, here, there) {
  if (role === 'receiver') {
    const server = net.createServer((socket) => serve(id, socket));
    const connected = new Promise((done) => { server.once('connection', done); });
    sendOn[id] = (packet) => connected.then(() => sendOn[id](packet));
    await new Promise((done) => { server.listen(here.port, here.host, done); });
    return;
  }
  await new Promise((done) => {
    const socket = net.connect({ ...there, localAddress: here.host, localPort: here.port }, () => {
      serve(id, socket);
      done();
    });
  });
}

async function open(connection) {
  let [here, there] = [endpoint(connection.sender), endpoint(connection.receiver)];
  if (role === 'receiver') [here, there] = [there, here];
  await (plan.transport === 'tcp' ? openTCP : openUDP)(connection.link, here, there);
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

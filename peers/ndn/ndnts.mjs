// NDNts as consumer or producer of one object, as ndn-agent's `get` and `put` are:
//   node ndnts.mjs get --face udp://HOST:PORT|tcp://HOST:PORT NAME
//   node ndnts.mjs put --face … [--register] --bytes N [--seed N] [--segment-bytes 4400] NAME
// `put` prints `ready`, serves until SIGTERM or SIGINT, and then prints its report; `get` prints its report when it has all.
// The packages are used as published; only their public interface is called.
import { createCipheriv, createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Forwarder } from '@ndn/fw';
import { getPrefix, invoke } from '@ndn/nfdmgmt';
import { TcpTransport, UdpTransport } from '@ndn/node-transport';
import { digestSigning, Interest, Name } from '@ndn/packet';
import { BufferChunkSource, fetch, serve, TcpCubic } from '@ndn/segmented-object';
import { createRequire } from 'node:module';
import { Direct } from './direct.mjs';

const VERSION = createRequire(import.meta.url)('./node_modules/@ndn/segmented-object/package.json').version;

function refuse(message) {
  console.error(`ndnts.mjs: ${message}`);
  process.exit(2);
}

function readArguments() {
  const options = {
    face: { type: 'string' }, local: { type: 'string' }, register: { type: 'boolean' },
    bytes: { type: 'string' }, seed: { type: 'string', default: '1' }, 'segment-bytes': { type: 'string', default: '4400' },
  };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [role, name, ...more] = positionals;
  const face = /^(udp|tcp):\/\/([^:]+):(\d+)$/.exec(values.face ?? '');
  if (!['get', 'put'].includes(role) || !name || more.length) throw new Error('usage: ndnts.mjs get|put --face URI [options] NAME');
  if (!face) throw new Error(`--face ${values.face}: want udp://HOST:PORT or tcp://HOST:PORT`);
  const number = (key) => {
    if (!/^[1-9]\d*$/.test(values[key] ?? '')) throw new Error(`--${key} ${values[key]}: want a whole number above 0`);
    return Number(values[key]);
  };
  const common = { role, name: new Name(name), transport: face[1], host: face[2], port: Number(face[3]), register: values.register };
  if (values.local) common.bind = { address: values.local.split(':')[0], port: Number(values.local.split(':')[1]) };
  return role === 'get' ? common : { ...common, bytes: number('bytes'), seed: number('seed'), segmentBytes: number('segment-bytes') };
}

const connect = ({ transport, host, port, bind }) => (
  transport === 'tcp' ? TcpTransport.connect(host, port) : UdpTransport.connect({ host, port, bind }));

// NDNts's own CUBIC, with what it is told counted: it grows with each Data without a mark, and cuts once per RTO.
class CountingCubic extends TcpCubic {
  grown = 0;

  cuts = 0;

  largest = 0;

  increase(now, rtt) {
    this.grown += 1;
    super.increase(now, rtt);
    this.largest = Math.max(this.largest, this.cwnd);
  }

  decrease(now) {
    this.cuts += 1;
    super.decrease(now);
  }
}

async function get(asked) {
  const direct = new Direct(await connect(asked));
  const ca = new CountingCubic();
  const sum = createHash('sha256');
  const began = performance.now();
  let [bytes, segments] = [0, 0];
  for await (const data of fetch(asked.name, { fw: direct, ca, verifier: digestSigning })) {
    bytes += data.content.length;
    segments += 1;
    sum.update(data.content);
  }
  const duration = (performance.now() - began) / 1000;
  return {
    bytes, segments, sha256: sum.digest('hex'), duration_s: duration, goodput_bps: (bytes * 8) / duration,
    marks_received: direct.marks, marks: segments - ca.grown, cwnd_cuts: ca.cuts, max_cwnd: ca.largest,
    retransmissions: direct.interests - segments,
  };
}

// The payload is the key stream of a cipher: random, and the same for the same seed.
function payload({ bytes, seed }) {
  const key = createHash('sha256').update(String(seed)).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

async function put(asked) {
  const { face, where } = asked.transport === 'tcp'
    ? { face: TcpTransport.createFace, where: [asked.host, asked.port] }
    : { face: UdpTransport.createFace, where: [{ host: asked.host, port: asked.port, bind: asked.bind }] };
  await face({}, ...where);
  const content = payload(asked);
  let interests = 0;
  const server = serve(asked.name, new BufferChunkSource(content, { chunkSize: asked.segmentBytes }), { signer: digestSigning });
  Forwarder.getDefault().addEventListener('pktrx', ({ packet }) => {
    if (packet.l3 instanceof Interest && !packet.cancel && asked.name.isPrefixOf(packet.l3.name)) interests += 1;
  });
  if (asked.register) {
    const prefix = getPrefix(asked.host.startsWith('127.'));
    const { statusCode, statusText } = await invoke('rib/register', { name: asked.name }, { prefix, signer: digestSigning });
    if (statusCode !== 200) throw new Error(`${prefix}/rib/register ${asked.name}: ${statusCode} ${statusText}`);
  }
  console.log('ready');
  await new Promise((done) => { process.once('SIGTERM', done); process.once('SIGINT', done); });
  server.close();
  return {
    bytes: content.length, segments: Math.ceil(content.length / asked.segmentBytes),
    sha256: createHash('sha256').update(content).digest('hex'), interests,
  };
}

let asked;
try {
  asked = readArguments();
} catch (error) {
  refuse(error.message);
}
const report = await (asked.role === 'get' ? get(asked) : put(asked));
console.log(JSON.stringify({ implementation: `NDNts ${VERSION}`, role: asked.role, ...report }));
process.exit(0);

// npm's NCP with a window rule of its own, which sends in any scenario (docs/program.md):
//   npm install --ignore-scripts --prefix codes/mine
//   ./run.sh startup --code ./codes/mine --set policy=mine --engine vkernel
'use strict';

const path = require('path');

const { Session } = require('@nkn/ncp');
const lib = path.dirname(require.resolve('@nkn/ncp'));
const { Packet } = require(path.join(lib, 'pb', 'packet_pb.js'));
const { default: Connection } = require(path.join(lib, 'connection.js'));

const LEAST_PACKETS = 1;

// The package sets a connection's window by this alone: to one packet more for each that is acknowledged, to a half for
// each that times out, and then to its share of the session's window. It has no least window; NKP-0024 has.
Connection.prototype.setWindowSize = function setWindowSize(packets) {
  this.windowSize = Math.max(LEAST_PACKETS, packets);
};

module.exports = { Session, Packet };

// The control socket, as the testbed's agent has it: GET /state, and POST /start for a sender.
'use strict';

const http = require('http');

class Control {
  constructor(status) {
    this.status = status; // gives the answer to GET /state
    this.started = new Promise((done) => { this.whenStarted = done; });
    this.server = http.createServer((request, response) => this.answer(request, response));
  }

  listen(path) {
    return new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(path, done);
    });
  }

  answer(request, response) {
    const asked = `${request.method} ${request.url}`;
    const status = this.status();
    let [code, document] = [404, { error: `there is no ${asked}` }];
    if (asked === 'GET /state') [code, document] = [200, status];
    if (asked === 'POST /start') {
      const ready = status.role === 'sender' && status.state === 'ready';
      [code, document] = ready ? [200, {}] : [409, { error: `the ${status.role} is ${status.state}` }];
      if (ready) this.whenStarted();
    }
    response.writeHead(code, { 'Content-Type': 'application/json', Connection: 'close' });
    response.end(JSON.stringify(document));
  }
}

module.exports = { Control };

// The control socket, as the testbed's agent has it: GET /state, POST /start for a sender, and further requests.
'use strict';

const http = require('http');

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

class Control {
  // status gives the answer to GET /state, and further that to other requests, by their query.
  constructor(status, further = {}) {
    this.status = status;
    this.further = further;
    this.started = new Promise((done) => { this.whenStarted = done; });
    this.server = http.createServer((request, response) => this.answer(request, response));
  }

  listen(path) {
    return new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(path, done);
    });
  }

  async answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://agent');
    let [code, document] = [200, {}];
    try {
      document = await this.answerTo(`${request.method} ${pathname}`, searchParams);
    } catch (error) {
      [code, document] = [error.status || 500, { error: error.message }];
    }
    response.writeHead(code, { 'Content-Type': 'application/json', Connection: 'close' });
    response.end(JSON.stringify(document));
  }

  answerTo(asked, query) {
    const status = this.status();
    if (asked === 'GET /state') return status;
    if (asked in this.further) return this.further[asked](query);
    if (asked !== 'POST /start') throw new Refused(404, `there is no ${asked}`);
    if (status.role !== 'sender' || status.state !== 'ready') throw new Refused(409, `the ${status.role} is ${status.state}`);
    this.whenStarted();
    return {};
  }
}

module.exports = { Control, Refused };

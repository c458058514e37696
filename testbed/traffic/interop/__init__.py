"""The agent and npm's implementations of NCP in pairs, one transfer after another over one network, each judged by what
both ends say and by the packets captured at each."""

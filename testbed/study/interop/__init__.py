"""The agent against real peers: npm's implementations of NCP, over emulated links, judged from captured packets."""

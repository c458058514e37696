"""One run on real parts: build the network, measure it, run the agents, judge, tear down."""

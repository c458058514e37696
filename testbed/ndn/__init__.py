"""NDN over tunnels: a consumer, forwarders and a producer in a row, and the marks that forwarders set."""

"""Creates and removes the parts of a run on real packets: namespaces, agents, processes, ledger."""

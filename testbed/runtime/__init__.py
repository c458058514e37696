"""What a run on real packets creates on this machine and removes again: namespaces, agents, processes, its ledger."""

"""Topologies of other tools: brought in as a scenario (``bring_in``), or a scenario handed out (``to_clab``)."""

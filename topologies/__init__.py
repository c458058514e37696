"""Mininet topologies and the emulated link. Standard library and Mininet only, so that ``mn --custom`` can use them."""

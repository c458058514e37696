"""Emulation: a plan carried out on the network of a kernel, this machine's or a guest's."""

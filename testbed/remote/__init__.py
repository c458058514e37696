"""Hosts of a topology on other machines, which need Docker and SSH alone; the middle of every link stays here."""

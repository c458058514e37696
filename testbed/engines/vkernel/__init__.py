"""The engine of a real kernel in virtual time: a run in a User-Mode Linux guest, whose clock jumps over idle time."""

"""The engine of virtual time: a plan is simulated instead of emulated; judged and reported as any other run."""

"""Results that leave this machine: bundles with everything that is needed to check them, and how they are checked."""

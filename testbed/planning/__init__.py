"""From a scenario and the machine to the plan of a run."""

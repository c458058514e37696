"""What is concluded from results, without I/O."""

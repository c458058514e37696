"""One scenario on two engines, side by side: each is the other's test."""

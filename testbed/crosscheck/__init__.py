"""One scenario or table on several engines, side by side: each is the others' test."""

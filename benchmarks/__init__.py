"""What podium costs next to its peers, measured in one process: ``python -m benchmarks``."""

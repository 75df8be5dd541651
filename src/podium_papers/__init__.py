"""The papers' own experiments, run anew: a module for each paper, and what they share."""

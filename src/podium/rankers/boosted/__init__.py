"""Boosting: a ranking function as a sum of weak rankers, one more per round.

Each algorithm is a generator of rounds. Its caller may look at every round, stop, or keep the best
prefix.
"""

"""Boosting: a ranking function as a sum of weak rankers, one more per round.

Each algorithm is a generator of rounds. The caller may inspect every round, stop early, or keep the
best first rounds.
"""

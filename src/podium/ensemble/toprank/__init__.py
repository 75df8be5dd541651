"""TopRank: supervised re-ranking of the head of a list by the votes of several rankers.

`ranker` has the ranker, `voters` who votes and what a vote counts, `heads` the first t documents,
`reranked_model` the fitted model and its file form, `head_explanation` why a head is ordered as it is.
Supervised Kemeny, which joins the votes, is in `podium.aggregation`.
"""

"""TopRank: supervised re-ranking of the head of a list by the votes of several rankers.

`ranker` has the ranker, `vote_weights` who votes and what each vote counts, `heads` the first t documents,
`reranked_model` the fitted model and its file form, `head_explanation` why a head is ordered as it is.
Supervised Kemeny, which joins the votes, is in `podium.aggregation`.
"""

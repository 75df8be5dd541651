"""TopRank: supervised re-ranking of the head of a list by the votes of several rankers.

`ranker` has the ranker, `vote_weights` the voters and the weights of their votes, `heads` the first t
documents, `reranked_model` the fitted model and its file form, and `head_explanation` the
explanation of a head. `list_voters` has voters that are no rankers of features, such as machines.
Supervised Kemeny, which combines the votes, is in `podium.aggregation`.
"""

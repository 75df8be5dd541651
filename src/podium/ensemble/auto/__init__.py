"""AutoRanker: a search over rankers and their combinations within a budget.

`candidates` has the rankers to try by the shape of the data, `racing` the successive halving,
`fit_runner` the parallel fits within the budget, `fit_store` the finished fits of an interrupted
search, `search` the race and its finalists, `out_of_fold` their scores, `greedy_selection`,
`stacking` and `combinations` the ways to combine them, `nested_validation` the choice, `final_model`
the merged model, and `ranker` the AutoRanker.
"""

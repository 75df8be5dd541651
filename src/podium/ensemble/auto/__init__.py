"""AutoRanker: a search over rankers and their combinations within a budget.

The modules in the order of a search:

- `ranker`: the AutoRanker. `budget`: what it may cost. `search_clock`: what is used of it.
- `data_shape`: what the data is like. `candidates`: the rankers to try on such data.
- `query_folds`: the folds of the queries.
- `search`: the race over folds, then more fits of the finalists. `racing`: who goes on to the next fold.
- `fit_runner`: the parallel fits. `fit_times`: how long they take. `fold_fits`: one fit.
  `cross_stopping`: its iteration. `fit_store`: the fits of an interrupted search. `search_progress`:
  the leaderboard.
- `out_of_fold`: the scores of the finalists. `combinations`, `greedy_selection`, `stacking`: ways to
  combine them. `nested_validation`: the choice of one.
- `final_model`: one model of all members. `search_results`: the report.
"""

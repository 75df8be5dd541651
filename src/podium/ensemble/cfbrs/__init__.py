"""CFBRS: an ensemble of rankers on compositions of the features, weighted by user feedback.

`ranker` has the ranker, `compositions` the ways to cut features into blocks, and `composition_sums`
sums over all of them. `composition_plan` has the compositions of an ensemble and their blocks,
`composition_choice` chooses them by the parameters of CFBRS, and `composition_feedback` has the
feedback alpha on them. `feature_blocks` fits a ranker for each block, and `block_weights` computes
their weights. `user_classes` has the weights of each class of users, `personal_ranker` lists and
updates for classes, `composed_model` the fitted model, and `composed_model_parts` its file form.
Simulated feedback, normal by the size of blocks, is in `podium.feedback.simulated_feedback`.
"""

"""CFBRS: an ensemble of rankers on compositions of the features, weighted by user feedback.

`ranker` has the ranker, `compositions` the ways to cut features into blocks, `composition_sums` sums over
all of them, `composition_plan` which of them an ensemble has, `composition_feedback` the feedback alpha on
them, `feature_blocks` a ranker for each block, `block_weights` what each block counts, `user_classes` the
weights of each class of users, `personal_ranker` lists and updates for classes, and `composed_model` the
fitted model and its file form. Feedback that is simulated (normal by the size of blocks) is in
`podium.feedback.simulated_feedback`.
"""

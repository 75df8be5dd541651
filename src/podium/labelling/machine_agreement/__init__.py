"""How far a machine assessor judges as people do, with intervals by query.

`agreement_with_people` measures it all, `agreement_tables` shows it. Its parts: `agreement_intervals` (kappa,
alpha and shares), `answer_biases` (for a side, for length), `model_drift` (between models and prompts),
`system_ranking` (Kendall's tau of systems by two truths), `judgments_needed` (of people, still).
"""

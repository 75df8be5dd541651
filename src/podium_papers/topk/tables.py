"""Tables 4 and 5 of the top-k paper as printed, and what they have in rows and columns.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.2.
"""

from __future__ import annotations

from typing import Literal

NAMES = {
    "svm-map": "SVM-MAP",
    "ranksvm": "RankSVM",
    "focused-svm": "FocusedSVM",
    "adarank": "AdaRank",
    "rankboost": "RankBoost",
    "focused-boost": "FocusedBoost",
    "listnet": "ListNet",
    "ranknet": "RankNet",
    "focused-net": "FocusedNet",
    "topk-listmle": "Top-k ListMLE",
}
"""The rows: every ranker, and what the paper calls it."""
FAMILIES = {
    "focused-svm": ("svm-map", "ranksvm"),
    "focused-boost": ("adarank", "rankboost"),
    "focused-net": ("listnet", "ranknet"),
}
"""A Focused ranker -> its parents, the listwise and the pairwise one."""

Kind = Literal["graded", "top-k"]

PAPER_K = 10
DEPTHS = range(1, PAPER_K + 1)
MEASURES: dict[Kind, dict[str, str]] = {
    "graded": {**{f"NDCG@{j}": f"N@{j}" for j in DEPTHS}, "ERR(r_max='query')": "ERR"},
    "top-k": {**{f"kNDCG@{j}": f"κ-N@{j}" for j in DEPTHS}, "kERR": "κ-ERR"},
}
"""The columns: every measure, and its head in the table. NDCG and ERR as section 3.3 defines them."""

TABLES = {"MQ2007": 4, "TD2003": 5}
GRADES = {"MQ2007": 3, "TD2003": 5}
"""Of the paper's own data sets. LETOR's TD2003 has two: the paper's was judged anew."""
TRUTHS = {"MQ2007": "list", "TD2003": "judged"}
"""What their top-k truth is called here: MQ2007-list's orders, and the paper's assessors'."""

_PRINTED: dict[tuple[str, Kind], str] = {
    ("MQ2007", "graded"): """
        svm-map       .4006 .4039 .4111 .4128 .4165 .4217 .4266 .4322 .4363 .4419 .3146
        ranksvm       .4118 .4058 .4051 .4099 .4173 .4216 .4267 .4320 .4380 .4447 .3178
        focused-svm   .4060 .4083 .4077 .4079 .4123 .4179 .4234 .4299 .4351 .4400 .3196
        adarank       .3789 .3941 .3955 .4024 .4066 .4119 .4169 .4225 .4287 .4345 .3061
        rankboost     .3972 .4051 .4062 .4095 .4150 .4197 .4260 .4316 .4374 .4438 .3101
        focused-boost .3947 .4098 .4110 .4132 .4164 .4235 .4282 .4317 .4368 .4422 .3199
        listnet       .4114 .4110 .4134 .4153 .4204 .4243 .4300 .4332 .4389 .4442 .3206
        ranknet       .4013 .4086 .4076 .4118 .4156 .4211 .4267 .4330 .4379 .4451 .3157
        focused-net   .3968 .4103 .4126 .4153 .4191 .4245 .4301 .4341 .4403 .4459 .3223
        topk-listmle  .4057 .4091 .4115 .4143 .4188 .4247 .4293 .4346 .4392 .4443 .3168
    """,
    ("MQ2007", "top-k"): """
        svm-map       .4530 .5023 .5389 .5702 .5951 .6178 .6346 .6479 .6591 .6690 .6227
        ranksvm       .4545 .4932 .5315 .5664 .5930 .6135 .6306 .6445 .6564 .6655 .6205
        focused-svm   .4539 .5087 .5448 .5773 .6024 .6224 .6404 .6527 .6646 .6739 .6287
        adarank       .3896 .4438 .4745 .5062 .5358 .5575 .5777 .5952 .6089 .6190 .5637
        rankboost     .4438 .4825 .5243 .5567 .5850 .6066 .6234 .6361 .6476 .6571 .6131
        focused-boost .4529 .4943 .5312 .5633 .5918 .6123 .6288 .6420 .6523 .6628 .6187
        listnet       .4541 .4937 .5314 .5669 .5922 .6132 .6299 .6419 .6530 .6613 .6195
        ranknet       .4490 .4875 .5269 .5586 .5865 .6077 .6249 .6390 .6512 .6603 .6143
        focused-net   .4623 .5108 .5460 .5783 .6028 .6240 .6409 .6529 .6633 .6735 .6336
        topk-listmle  .4570 .4991 .5356 .5719 .5969 .6176 .6339 .6476 .6585 .6673 .6228
    """,
    ("TD2003", "graded"): """
        svm-map       .5055 .5356 .5335 .5374 .5515 .5584 .5669 .5743 .5763 .5801 .5102
        ranksvm       .5019 .5409 .5446 .5657 .5816 .5829 .5867 .5847 .5905 .5991 .5072
        focused-svm   .5126 .5505 .5498 .5633 .5642 .5656 .5642 .5761 .5840 .5885 .5129
        adarank       .5278 .5436 .5619 .5740 .5774 .5797 .5845 .5872 .5944 .5982 .5132
        rankboost     .5230 .5094 .5179 .5362 .5456 .5507 .5555 .5623 .5640 .5750 .5119
        focused-boost .5486 .5275 .5356 .5532 .5554 .5706 .5790 .5856 .5876 .5955 .5466
        listnet       .5229 .5480 .5514 .5663 .5736 .5804 .5885 .5949 .5944 .5985 .5225
        ranknet       .4971 .5304 .5612 .5638 .5642 .5765 .5817 .5837 .5895 .5983 .5059
        focused-net   .5265 .5660 .5642 .5706 .5780 .5804 .5848 .5898 .5948 .6082 .5660
        topk-listmle  .4994 .5190 .5356 .5504 .5540 .5717 .5746 .5798 .5861 .5885 .5083
    """,
    ("TD2003", "top-k"): """
        svm-map       .2248 .2822 .2884 .2973 .3271 .3359 .3459 .3606 .3769 .3858 .3839
        ranksvm       .2246 .2893 .2921 .3083 .3253 .3387 .3561 .3703 .3794 .3872 .4025
        focused-svm   .2243 .2965 .2958 .3192 .3235 .3415 .3662 .3801 .3819 .3886 .4041
        adarank       .2029 .2979 .2995 .3116 .3289 .3379 .3427 .3574 .3656 .3766 .3777
        rankboost     .2082 .2931 .2921 .3103 .3255 .3365 .3576 .3654 .3782 .3789 .3970
        focused-boost .2583 .3168 .3124 .3191 .3346 .3517 .3634 .3732 .3861 .3980 .4214
        listnet       .2685 .2731 .2694 .2789 .3044 .3142 .3252 .3404 .3514 .3624 .3962
        ranknet       .2776 .2946 .2946 .3021 .3227 .3372 .3470 .3688 .3763 .3813 .4199
        focused-net   .2473 .3268 .3237 .3223 .3507 .3605 .3705 .3769 .3849 .4058 .4603
        topk-listmle  .2389 .2861 .3055 .3222 .3480 .3552 .3668 .3702 .3913 .4007 .4028
    """,
}

PRINTED: dict[tuple[str, Kind], dict[str, tuple[float, ...]]] = {
    table: {
        ranker: tuple(float(value) for value in values)
        for ranker, *values in (line.split() for line in text.strip().splitlines())
    }
    for table, text in _PRINTED.items()
}
"""(data set, kind of truth) -> ranker -> its values in the order of MEASURES."""


def printed(data: str, kind: Kind, ranker: str, measure: str) -> float:
    """A cell of Table 4 or 5.

    Examples
    --------
    >>> printed("MQ2007", "top-k", "focused-net", "kNDCG@10")
    0.6735
    """
    return PRINTED[data, kind][ranker][list(MEASURES[kind]).index(measure)]


def is_papers_own(data: str, truth: str, k: int, grades: int) -> bool:
    """Whether a table prints values of this very data: only then a difference says something.

    Examples
    --------
    >>> is_papers_own("MQ2007", "list", 10, 3), is_papers_own("MQ2007", "random", 10, 3)
    (True, False)
    >>> is_papers_own("TD2003", "graded", 0, 2), is_papers_own("MQ2008", "graded", 0, 3)
    (False, False)
    """
    if GRADES.get(data) != grades:
        return False
    return truth == "graded" or (truth == TRUTHS[data] and k == PAPER_K)

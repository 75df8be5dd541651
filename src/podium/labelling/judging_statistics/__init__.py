"""Statistics of judging: times, agreement, reliability, and tests between the two tools."""

from podium.labelling.judging_statistics.agreement import AssessorAgreement, Opinion, agreement
from podium.labelling.judging_statistics.figure import plot_statistics
from podium.labelling.judging_statistics.judgment_times import JudgmentTimes
from podium.labelling.judging_statistics.kappa_alpha import (
    cohen_kappa,
    coincidences,
    krippendorff_alpha,
)
from podium.labelling.judging_statistics.summary import (
    Statistics,
    StatisticsTable,
    statistics,
    statistics_of,
)
from podium.labelling.judging_statistics.tool_comparison import (
    ChiSquare,
    PermutationTest,
    ToolComparison,
    chi_square,
    compare_tools,
)

__all__ = [
    "AssessorAgreement",
    "ChiSquare",
    "JudgmentTimes",
    "Opinion",
    "PermutationTest",
    "Statistics",
    "StatisticsTable",
    "ToolComparison",
    "agreement",
    "chi_square",
    "cohen_kappa",
    "coincidences",
    "compare_tools",
    "krippendorff_alpha",
    "plot_statistics",
    "statistics",
    "statistics_of",
]

"""Top-k judging: labelling strategies, judging sessions, the store, merging, export and statistics."""

from podium.labelling.active_time import ActiveTime, active_time
from podium.labelling.assignment_designs import crossover_design, overlap_design
from podium.labelling.assignments import (
    Assignment,
    check_assignments,
    read_assignments,
    write_assignments,
)
from podium.labelling.disagreements import AssessorAnswer, Disagreement, find_disagreements
from podium.labelling.events import JudgingEvent
from podium.labelling.export import ExportSummary, export
from podium.labelling.generated_judgments import make_judgments
from podium.labelling.grading import Graded, GradeQuestion, Grades, Grading
from podium.labelling.guidelines import Guidelines, read_guidelines
from podium.labelling.implied_preferences import ImpliedPreferences
from podium.labelling.judged_truth import JudgedTruth, grade_truth, position_truth, top_k_truth
from podium.labelling.judging_statistics.agreement import AssessorAgreement, Opinion, agreement
from podium.labelling.judging_statistics.judgment_times import JudgmentTimes
from podium.labelling.judging_statistics.kappa_alpha import (
    cohen_kappa,
    coincidences,
    krippendorff_alpha,
)
from podium.labelling.judging_statistics.summary import (
    Statistics,
    StatisticsTable,
    plot_statistics,
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
from podium.labelling.judgments import JudgedTopK, Judgment, Question
from podium.labelling.merging import bradley_terry, merge_grades, merge_top_k, mergers
from podium.labelling.pool_files import read_pool, read_trec_pool, write_pool
from podium.labelling.pools import Pool, PoolDocument, PoolQuery
from podium.labelling.session import Session, SessionProgress
from podium.labelling.settlements import Settlement
from podium.labelling.simulated_errors import ERROR_MODELS, SimulatedErrors
from podium.labelling.simulation import Assessor, Simulation, simulate
from podium.labelling.strategies.bayesian import Bayesian
from podium.labelling.strategies.heap import Heap
from podium.labelling.strategies.sort import Sort
from podium.labelling.strategies.strategy import Strategy
from podium.labelling.strategies.strategy_run import (
    STRATEGIES,
    StrategyRun,
    check_confidence,
    strategy_named,
)
from podium.labelling.strategies.tournament import Tournament
from podium.labelling.tasks import FIVE_GRADES, GradeTask, PreferenceTask, make_tasks

__all__ = [
    "ActiveTime",
    "AssessorAgreement",
    "AssessorAnswer",
    "Assessor",
    "Assignment",
    "Bayesian",
    "ChiSquare",
    "Disagreement",
    "ERROR_MODELS",
    "JudgingEvent",
    "ExportSummary",
    "FIVE_GRADES",
    "GradeQuestion",
    "GradeTask",
    "Graded",
    "Grades",
    "Grading",
    "Guidelines",
    "Heap",
    "Judgment",
    "ImpliedPreferences",
    "Opinion",
    "PermutationTest",
    "Pool",
    "PoolDocument",
    "PoolQuery",
    "PreferenceTask",
    "SessionProgress",
    "Question",
    "StrategyRun",
    "STRATEGIES",
    "Session",
    "Settlement",
    "SimulatedErrors",
    "Simulation",
    "Sort",
    "Statistics",
    "Strategy",
    "StatisticsTable",
    "JudgmentTimes",
    "ToolComparison",
    "JudgedTopK",
    "Tournament",
    "JudgedTruth",
    "active_time",
    "agreement",
    "bradley_terry",
    "check_assignments",
    "chi_square",
    "cohen_kappa",
    "coincidences",
    "compare_tools",
    "crossover_design",
    "export",
    "find_disagreements",
    "grade_truth",
    "krippendorff_alpha",
    "make_judgments",
    "make_tasks",
    "merge_grades",
    "merge_top_k",
    "mergers",
    "overlap_design",
    "plot_statistics",
    "position_truth",
    "read_assignments",
    "read_guidelines",
    "read_pool",
    "read_trec_pool",
    "simulate",
    "statistics",
    "statistics_of",
    "check_confidence",
    "strategy_named",
    "top_k_truth",
    "write_assignments",
    "write_pool",
]

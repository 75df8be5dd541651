"""Top-k judging: strategies that ask for preferences, what the answers imply, and sessions of them."""

from podium.labelling.agreement import Agreement, Opinion, agreement
from podium.labelling.assignment import (
    Assignment,
    check_assignments,
    crossover_design,
    overlap_design,
    read_assignments,
    write_assignments,
)
from podium.labelling.clock import ActiveTime, active_time
from podium.labelling.comparison import PermutationTest, ToolComparison, compare_tools
from podium.labelling.events import Event
from podium.labelling.export import Exported, export
from podium.labelling.figure import plot_statistics
from podium.labelling.generated import make_judgments
from podium.labelling.grading import Graded, GradeQuestion, Grades, Grading
from podium.labelling.judgments import Judgment, Question, TopK
from podium.labelling.knowledge import Knowledge
from podium.labelling.merging import bradley_terry, merge_grades, merge_top_k, mergers
from podium.labelling.pool_files import read_pool, read_trec_pool, write_pool
from podium.labelling.pools import Pool, PoolDocument, PoolQuery
from podium.labelling.reliability import (
    ChiSquare,
    chi_square,
    cohen_kappa,
    coincidences,
    krippendorff_alpha,
)
from podium.labelling.session import Progress, Session
from podium.labelling.simulation import Assessor, Simulation, simulate
from podium.labelling.statistics import Statistics, Table, statistics, statistics_of
from podium.labelling.strategies import (
    STRATEGIES,
    Heap,
    Race,
    Sort,
    Strategy,
    Tournament,
    next_step,
    strategy_named,
)
from podium.labelling.tasks import FIVE_GRADES, GradeTask, PreferenceTask, make_tasks
from podium.labelling.times import Times
from podium.labelling.truth import Truth, grade_truth, position_truth, top_k_truth

__all__ = [
    "ActiveTime",
    "Agreement",
    "Assessor",
    "Assignment",
    "ChiSquare",
    "Event",
    "Exported",
    "FIVE_GRADES",
    "GradeQuestion",
    "GradeTask",
    "Graded",
    "Grades",
    "Grading",
    "Heap",
    "Judgment",
    "Knowledge",
    "Opinion",
    "PermutationTest",
    "Pool",
    "PoolDocument",
    "PoolQuery",
    "PreferenceTask",
    "Progress",
    "Question",
    "Race",
    "STRATEGIES",
    "Session",
    "Simulation",
    "Sort",
    "Statistics",
    "Strategy",
    "Table",
    "Times",
    "ToolComparison",
    "TopK",
    "Tournament",
    "Truth",
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
    "grade_truth",
    "krippendorff_alpha",
    "make_judgments",
    "make_tasks",
    "merge_grades",
    "merge_top_k",
    "mergers",
    "next_step",
    "overlap_design",
    "plot_statistics",
    "position_truth",
    "read_assignments",
    "read_pool",
    "read_trec_pool",
    "simulate",
    "statistics",
    "statistics_of",
    "strategy_named",
    "top_k_truth",
    "write_assignments",
    "write_pool",
]

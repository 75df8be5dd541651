"""What a ranking problem is, and how it comes in and goes out."""

from podium.data.checks import DENSE_LIMIT, check_seed
from podium.data.durability import make_folder
from podium.data.files import Path_, atomic_path, atomic_writer
from podium.data.formats import detect_format, read_data, read_judged, read_scores, write_scores
from podium.data.groups import Groups
from podium.data.letor import read_letor, write_letor
from podium.data.parquet import read_parquet, write_columns_parquet, write_scores_parquet
from podium.data.ranking_data import RankingData, concatenate
from podium.data.records import read_fields, read_queries
from podium.data.scaling import SCALERS, scale_by_query
from podium.data.splitting import Fold, kfold, rotate, shuffled, shuffled_queries, split
from podium.data.strings import Strings
from podium.data.synthetic import SyntheticData, Truth, make_opposed, make_synthetic
from podium.data.trec import (
    Qrels,
    Run,
    match,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from podium.data.truth import cut_truth, draw_order, draw_truth, position_labels, top_k

__all__ = [
    "DENSE_LIMIT",
    "Fold",
    "Groups",
    "Path_",
    "Qrels",
    "RankingData",
    "Run",
    "SCALERS",
    "Strings",
    "SyntheticData",
    "Truth",
    "atomic_path",
    "atomic_writer",
    "check_seed",
    "concatenate",
    "cut_truth",
    "detect_format",
    "draw_order",
    "draw_truth",
    "kfold",
    "make_folder",
    "make_opposed",
    "make_synthetic",
    "match",
    "position_labels",
    "read_data",
    "read_fields",
    "read_judged",
    "read_letor",
    "read_parquet",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_scores",
    "rotate",
    "scale_by_query",
    "shuffled",
    "shuffled_queries",
    "split",
    "top_k",
    "write_columns_parquet",
    "write_letor",
    "write_qrels",
    "write_run",
    "write_scores",
    "write_scores_parquet",
]

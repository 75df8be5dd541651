"""What a ranking problem is, and how podium reads and writes it."""

from podium.data.argument_checks import check_seed
from podium.data.atomic_files import atomic_path, atomic_writer, make_folder
from podium.data.collections.collection import Collection, open_collection
from podium.data.collections.partition import partition
from podium.data.columns import Columns, read_columns, write_columns
from podium.data.concatenation import concatenate
from podium.data.csv_writer import write_csv
from podium.data.data_description import DataDescription
from podium.data.document_records import read_fields
from podium.data.duplicate_documents import keep_first_documents
from podium.data.feature_matrix import MAX_DENSE_BYTES
from podium.data.feature_statistics import FeatureStatistics
from podium.data.file_formats import detect_format, read_data, read_judgments
from podium.data.groups import Groups
from podium.data.indexed_runs import IndexedRun
from podium.data.letor import read_letor, write_letor
from podium.data.packed_strings import Strings
from podium.data.parquet_reader import read_parquet
from podium.data.parquet_writer import write_columns_parquet, write_scores_parquet
from podium.data.query_files import read_queries
from podium.data.ranking_columns import RankingColumns
from podium.data.ranking_data import RankingData
from podium.data.scaling import SCALERS, scale_by_query
from podium.data.score_files import read_scores, write_scores
from podium.data.splits_and_folds import (
    Fold,
    kfold,
    rotate,
    sample,
    shuffle,
    shuffled_queries,
    split,
)
from podium.data.synthetic import SyntheticData, TrueUtility, make_opposed, make_synthetic
from podium.data.tables import read_table
from podium.data.topk_truth import (
    cut_truth,
    document_noise,
    draw_order,
    draw_truth,
    position_labels,
    top_k,
)
from podium.data.trec import (
    Qrels,
    Run,
    match_documents,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from podium.typing import Path_

__all__ = [
    "Collection",
    "Columns",
    "DataDescription",
    "FeatureStatistics",
    "Fold",
    "Groups",
    "IndexedRun",
    "MAX_DENSE_BYTES",
    "Path_",
    "Qrels",
    "RankingColumns",
    "RankingData",
    "Run",
    "SCALERS",
    "Strings",
    "SyntheticData",
    "TrueUtility",
    "atomic_path",
    "atomic_writer",
    "check_seed",
    "concatenate",
    "cut_truth",
    "detect_format",
    "document_noise",
    "draw_order",
    "draw_truth",
    "keep_first_documents",
    "kfold",
    "make_folder",
    "make_opposed",
    "make_synthetic",
    "match_documents",
    "open_collection",
    "partition",
    "position_labels",
    "read_columns",
    "read_data",
    "read_fields",
    "read_judgments",
    "read_letor",
    "read_parquet",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_scores",
    "read_table",
    "rotate",
    "sample",
    "scale_by_query",
    "shuffle",
    "shuffled_queries",
    "split",
    "top_k",
    "write_columns",
    "write_columns_parquet",
    "write_csv",
    "write_letor",
    "write_qrels",
    "write_run",
    "write_scores",
    "write_scores_parquet",
]

"""The public names of podium, each named once; `podium/__init__.py` loads a name on first use."""

from . import (
    aggregation as aggregation,
    clicks as clicks,
    data as data,
    ensemble as ensemble,
    errors as errors,
    exchange as exchange,
    experiments as experiments,
    features as features,
    feedback as feedback,
    kernels as kernels,
    labelling as labelling,
    losses as losses,
    metrics as metrics,
    multitask as multitask,
    optim as optim,
    postranking as postranking,
    rankers as rankers,
    registry as registry,
    testing as testing,
)
from .aggregation import (
    AGGREGATORS as AGGREGATORS,
    aggregate as aggregate,
)
from .cluster import (
    use as use,
)
from .data import (
    Collection as Collection,
    Groups as Groups,
    Qrels as Qrels,
    RankingData as RankingData,
    Run as Run,
    make_opposed as make_opposed,
    make_synthetic as make_synthetic,
    open_collection as open_collection,
    partition as partition,
    read_letor as read_letor,
    read_parquet as read_parquet,
    read_qrels as read_qrels,
    read_run as read_run,
    read_table as read_table,
    write_letor as write_letor,
    write_qrels as write_qrels,
    write_run as write_run,
)
from .ensemble import (
    AutoRanker as AutoRanker,
    CFBRS as CFBRS,
    Bagged as Bagged,
    TopRank as TopRank,
)
from .errors import (
    PodiumError as PodiumError,
)
from .exchange import (
    EXPORTERS as EXPORTERS,
    IMPORTERS as IMPORTERS,
    export_model as export_model,
    import_model as import_model,
)
from .experiments.compare import (
    compare as compare,
)
from .experiments.report import (
    Report as Report,
)
from .losses import (
    LOSSES as LOSSES,
)
from .metrics import (
    METRICS as METRICS,
    evaluate as evaluate,
)
from .multitask import (
    RPCMTL as RPCMTL,
)
from .postranking import (
    RULES as RULES,
    Apart as Apart,
    AtLeast as AtLeast,
    AtMost as AtMost,
    Before as Before,
    Each as Each,
    Hide as Hide,
    NotTopK as NotTopK,
    Pin as Pin,
    PostRanker as PostRanker,
    PostRanking as PostRanking,
    Together as Together,
    TopK as TopK,
    Where as Where,
    postrank_batch as postrank_batch,
    read_rules as read_rules,
    write_rules as write_rules,
)
from .postranking.postrank import (
    postrank as postrank,
)
from .rankers import (
    MLP as MLP,
    SVMMAP as SVMMAP,
    AdaRank as AdaRank,
    CatBoostTrees as CatBoostTrees,
    CoordinateAscent as CoordinateAscent,
    FocusedBoost as FocusedBoost,
    FocusedNet as FocusedNet,
    FocusedSVM as FocusedSVM,
    LambdaMART as LambdaMART,
    LeastSquares as LeastSquares,
    ListMLE as ListMLE,
    ListNet as ListNet,
    Ordinal as Ordinal,
    Prepared as Prepared,
    RankBoost as RankBoost,
    RankNet as RankNet,
    RankSVM as RankSVM,
    Regression as Regression,
    TopkListMLE as TopkListMLE,
    TopMargin as TopMargin,
    TopSlack as TopSlack,
    explain as explain,
    tune as tune,
)
from .registry import (
    RANKERS as RANKERS,
    load as load,
)

__version__: str
__all__: list[str]

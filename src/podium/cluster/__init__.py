"""Work on a Dask cluster: choose one by ``podium.use``; everything else is called as before."""

from podium.cluster.connection import describe_cluster, use

__all__ = ["describe_cluster", "use"]

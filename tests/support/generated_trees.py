"""Trees of any shape, drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st

from podium.rankers.forest import DEFAULT_LEFT, MISSING_NAN, Tree


@st.composite
def trees(draw, width=3):
    """A tree of up to 8 leaves, with any numbers as thresholds."""
    leaves = draw(st.integers(1, 8))
    edges = st.one_of(
        st.floats(-1e3, 1e3),
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        st.sampled_from([0.0, -0.0, 1.0000000180025095e-35, -1e-35, 1.0, -1.0, 1e300, -1e300]),
        st.just(np.inf),
    )
    nodes = leaves - 1
    children, places = [[] for _ in range(nodes)], []
    for node in range(nodes):  # each node but the root takes a free place of an earlier one
        if node:
            at = places.pop(draw(st.integers(0, len(places) - 1)))
            children[at[0]][at[1]] = node
        children[node] = [None, None]
        places += [(node, 0), (node, 1)]
    for leaf, (node, side) in enumerate(places):
        children[node][side] = ~leaf
    missing = draw(st.booleans())
    decision = [
        (MISSING_NAN if missing else 0) | draw(st.sampled_from([0, DEFAULT_LEFT]))
        for _ in range(nodes)
    ]
    return Tree.of(
        [draw(st.integers(0, width - 1)) for _ in range(nodes)],
        [draw(edges) for _ in range(nodes)],
        [tuple(pair) for pair in children],
        [draw(st.floats(-10, 10)) for _ in range(leaves)],
        decision,
    )

"""Write clicks.csv: as train.csv, but the label of a product is what draws clicks at equal places.

A position-based click model separates how good a product is from how many people looked at its place.
"""

from features import write_table

from podium.clicks import fit_click_model, read_sessions


def attraction_by_query(sessions):
    """Return {query: {id: how likely a look becomes a click}}."""
    model = fit_click_model(sessions, "pbm")
    pairs, _ = sessions.pairs
    labels = {}
    for query, doc, value in zip(
        pairs.query_codes, pairs.doc_codes, model.attraction.of(pairs), strict=True
    ):
        labels.setdefault(pairs.queries[query], {})[pairs.docs[doc]] = round(float(value), 4)
    return labels


if __name__ == "__main__":
    sessions = read_sessions(["events.ndjson", "events-lists.ndjson"])
    print(sessions)
    write_table("clicks.csv", attraction_by_query(sessions))

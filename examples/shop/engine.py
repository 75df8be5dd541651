"""The search engine of the shop, tantivy: index products, and retrieve them with features.

To use another engine, rewrite these two functions. The other scripts know nothing of tantivy.
"""

import json
from pathlib import Path

import tantivy

TEXTS = ("title", "description")
NUMBERS = ("price", "rating", "stock")
FEATURES = (*(f"{text}_score" for text in TEXTS), "price", "rating")
"""What the model sees. Rules see the fields of a product: brand, price, stock."""


def build_index(products, folder="index"):
    """Index products, which are dictionaries, in a new folder."""
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    for name in TEXTS:
        schema.add_text_field(name, stored=True, tokenizer_name="en_stem")
    schema.add_text_field("product", stored=True)
    Path(folder).mkdir()
    index = tantivy.Index(schema.build(), path=str(folder))
    writer = index.writer(num_threads=1)
    for product in products:
        texts = {name: product[name] for name in ("id", *TEXTS)}
        writer.add_document(tantivy.Document(**texts, product=json.dumps(product)))
    writer.commit()
    writer.wait_merging_threads()


def retrieve(query, folder="index", size=50):
    """Return the products that match best, each with its id, its features and its fields."""
    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()
    parsed = {name: index.parse_query_lenient(query, [name])[0] for name in TEXTS}
    both = tantivy.Query.boolean_query([(tantivy.Occur.Should, q) for q in parsed.values()])
    hits = [searcher.doc(address) for _, address in searcher.search(both, size).hits]
    products = [json.loads(hit["product"][0]) for hit in hits]
    ids = [product["id"] for product in products]
    scores = {name: _scores(index, searcher, parsed[name], ids) for name in TEXTS}
    return [_document(product, scores) for product in products]


def _scores(index, searcher, query, ids):
    """Return the score of one field by id, for some products."""
    among = tantivy.Query.term_set_query(index.schema, "id", ids)
    among = tantivy.Query.const_score_query(among, 0.0)
    both = [(tantivy.Occur.Must, among), (tantivy.Occur.Must, query)]
    hits = searcher.search(tantivy.Query.boolean_query(both), max(1, len(ids))).hits
    return {searcher.doc(address)["id"][0]: score for score, address in hits}


def _document(product, scores):
    features = {f"{name}_score": scores[name].get(product["id"], 0.0) for name in TEXTS}
    features |= {name: float(product[name]) for name in NUMBERS if name in FEATURES}
    return {"id": product["id"], "features": features, "fields": product}

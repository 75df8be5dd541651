"""Another engine for the shop, PostgreSQL's full text search. To use it: cp engine_postgres.py engine.py

SHOP_DATABASE names the database, such as postgresql://shop@localhost/shop.
"""

import json
import os

import psycopg

TEXTS = ("title", "description")
NUMBERS = ("price", "rating", "stock")
FEATURES = (*(f"{text}_score" for text in TEXTS), "price", "rating")
"""What the model sees. Rules see the fields of a product: brand, price, stock."""

TABLE = """
DROP TABLE IF EXISTS products;
CREATE TABLE products (id text PRIMARY KEY, product jsonb, title tsvector, description tsvector);
CREATE INDEX ON products USING gin (title);
CREATE INDEX ON products USING gin (description);
"""
INSERT = """
INSERT INTO products VALUES (%(id)s, %(product)s,
  to_tsvector('english', %(title)s), to_tsvector('english', %(description)s))
"""
# Any word of the query may match: PostgreSQL itself joins them by "and".
RETRIEVE = """
WITH asked AS (SELECT replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words),
  scored AS (
    SELECT id, product, ts_rank(title, words) AS title_score, ts_rank(description, words) AS description_score
    FROM products, asked WHERE title @@ words OR description @@ words)
SELECT product, title_score, description_score FROM scored
ORDER BY title_score + description_score DESC, id LIMIT %(size)s
"""


def connect():
    """Connect to the database of SHOP_DATABASE."""
    return psycopg.connect(os.environ.get("SHOP_DATABASE", "postgresql:///shop"))


def build_index(products):
    """Index products, which are dictionaries, in a new table."""
    rows = [
        {name: product[name] for name in ("id", *TEXTS)} | {"product": json.dumps(product)}
        for product in products
    ]
    with connect() as connection:
        connection.execute(TABLE)
        connection.cursor().executemany(INSERT, rows)


def retrieve(query, size=50):
    """Return the products that match best, each with its id, its features and its fields."""
    with connect() as connection:
        rows = connection.execute(RETRIEVE, {"query": query, "size": size}).fetchall()
    return [_document(product, scores) for product, *scores in rows]


def _document(product, scores):
    features = {f"{name}_score": float(score) for name, score in zip(TEXTS, scores, strict=True)}
    features |= {name: float(product[name]) for name in NUMBERS if name in FEATURES}
    return {"id": product["id"], "features": features, "fields": product}

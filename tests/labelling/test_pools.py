"""Pools from JSONL, tables and TREC runs; a corrupt line is an error at its place."""

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import (
    DataError,
    EmptyDataError,
    MalformedLineError,
    UnknownNameError,
    UsageError,
)
from podium.labelling import (
    Pool,
    PoolDocument,
    PoolQuery,
    make_tasks,
    read_pool,
    read_trec_pool,
    write_pool,
)

POOL = Pool(
    (
        PoolQuery(
            "q1", "jazz", "music, not the colour",
            (
                PoolDocument("x", "Kind of Blue, 1959", score=2.5, title="Miles"),
                PoolDocument("y", "<b>Duke</b>", "html"),
                PoolDocument("z", "covers/z.png", "image"),
            ),
        ),
        PoolQuery("q2", "", "", (PoolDocument("x"),)),
    )
)  # fmt: skip


def write(path, text):
    path.write_text(text)
    return path


def test_a_pool_reads_back_equal(tmp_path):
    for name in ("pool.jsonl", "pool.jsonl.gz", "pool.ndjson.zst"):
        write_pool(POOL, tmp_path / name)
        assert read_pool(tmp_path / name) == POOL


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
printable = st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"], include_characters=" ")
name = st.text(printable, min_size=1, max_size=20)
documents = st.lists(
    st.builds(
        PoolDocument, name, text.filter(bool), st.sampled_from(["text", "html", "image"]), text,
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    min_size=1, max_size=4, unique_by=lambda d: d.id,
)  # fmt: skip
queries = st.builds(PoolQuery, name, text, text, documents.map(tuple))
pools = st.lists(queries, min_size=1, max_size=3, unique_by=lambda q: q.id)


@given(pools.map(tuple).map(Pool))
def test_any_pool_reads_back_equal(tmp_path_factory, pool):
    path = tmp_path_factory.mktemp("pools") / "pool.jsonl"
    write_pool(pool, path)
    assert read_pool(path) == pool


def flat_rows(pool):
    for query in pool:
        for d in query.documents:
            yield {
                "query": query.id, "query_text": query.text, "description": query.description,
                "document": d.id, d.kind: d.content, "title": d.title,
                "score": "" if d.score is None else d.score,
            }  # fmt: skip


def test_rows_of_one_document_each(tmp_path):
    lines = [json.dumps(row) + "\n" for row in flat_rows(POOL)]
    lines.insert(1, "\n")
    lines.append(lines.pop(0))  # the rows of a query need not stand together
    pool = read_pool(write(tmp_path / "pool.jsonl", "".join(lines)))
    assert sorted(query.id for query in pool) == ["q1", "q2"]
    assert sorted(d.id for d in pool["q1"].documents) == ["x", "y", "z"]
    assert pool["q1"].description == "music, not the colour"


def test_csv(tmp_path):
    path = tmp_path / "pool.csv"
    fields = [
        "query",
        "query_text",
        "description",
        "document",
        "title",
        "text",
        "html",
        "image",
        "score",
    ]
    with open(path, "w", newline="") as file:
        table = csv.DictWriter(file, fields)
        table.writeheader()
        table.writerows(flat_rows(POOL))
    assert read_pool(path) == POOL
    (tmp_path / "pool.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert read_pool(tmp_path / "pool.csv.gz") == POOL


NAMED = """query_id,query,doc_id,title,body
q1,chess clock,x,DGT,A clock
q1,chess clock,y,Leap,Another
"""


@pytest.mark.parametrize(
    "head",
    [
        "query_id,query,doc_id,title,body",
        "qid,query_text,docid,title,text",
        "Query-ID,Query,Document ID,Title,Content",
        "query,query_text,document,title,text",
        "query_id,query,id,doc_title,contents",
        "query_id,query,docno,title,text",
    ],
)
def test_usual_names_of_columns(tmp_path, head):
    rows = NAMED.split("\n", 1)[1]
    pool = read_pool(write(tmp_path / "pool.csv", f"{head}\n{rows}"))
    documents = (
        PoolDocument("x", "A clock", title="DGT"),
        PoolDocument("y", "Another", title="Leap"),
    )
    assert pool == Pool((PoolQuery("q1", "chess clock", documents=documents),))
    assert pool.ignored == ()


def test_usual_names_in_jsonl(tmp_path):
    nested = {"documents": [{"doc_id": "x", "content": "A clock", "url": "u"}], "lang": "en"}
    for names in (
        {"query_id": "q1", "query": "chess clock"},
        {"id": "q1", "query": "chess clock"},
        {"query": "q1", "text": "chess clock"},
        {"qid": "q1", "query_text": "chess clock"},
    ):
        pool = read_pool(write(tmp_path / "p.jsonl", json.dumps(names | nested) + "\n"))
        assert pool == Pool((PoolQuery("q1", "chess clock", "", (PoolDocument("x", "A clock"),)),))
        assert pool.ignored == ("lang", "url")


def test_columns_that_are_not_known_are_told(tmp_path):
    rows = "id,query_id,query,doc_id,text,url\n1,q1,jazz,x,Miles,u\n2,q1,jazz,y,Duke,v\n"
    pool = read_pool(write(tmp_path / "pool.csv", rows))
    assert [d.id for d in pool["q1"].documents] == ["x", "y"]
    assert pool.ignored == ("id", "url")


@pytest.mark.parametrize(
    ("head", "row", "says"),
    [
        ("query_id,query,query_text,doc_id", "q1,jazz,music,x", "query 'jazz' and query_text 'music'; keep"),
        ("query_id,qid,query_text,doc_id", "q1,q7,jazz,x", "query_id 'q1' and qid 'q7'"),
        ("query_id,docid,document", "q1,x,y", "document 'y' and docid 'x'"),
        ("query_id,doc_id,text,body", "q1,x,one,two", "text 'one' and body 'two'"),
        ("query,doc_id,text", "chess clock,x,A clock", "looks like the text of a query; add a column"),
    ],
)  # fmt: skip
def test_two_meanings_are_refused(tmp_path, head, row, says):
    path = write(tmp_path / "pool.csv", f"{head}\n{row}\n")
    with pytest.raises(MalformedLineError, match=says) as caught:
        read_pool(path)
    assert caught.value.line == 2


def test_a_column_twice_is_refused(tmp_path):
    with pytest.raises(MalformedLineError, match="the column 'text' occurs twice"):
        read_pool(write(tmp_path / "p.csv", "query,document,text,Text\nq,x,a,b\n"))


def test_a_document_may_have_many_lines_and_be_long(tmp_path):
    long = "line\n" * 100_000
    path = tmp_path / "pool.csv"
    limit = csv.field_size_limit()
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(
            [["query", "document", "text"], ["q", "x", long], ["q", "y", ""]]
        )
    assert read_pool(path)["q"].documents == (PoolDocument("x", long), PoolDocument("y"))
    assert csv.field_size_limit() == limit


def test_quotes_in_tsv_are_text(tmp_path):
    path = write(tmp_path / "pool.tsv", 'query\tdocument\ttext\nq\tx\t"Kind of" Blue\n')
    assert read_pool(path)["q"].documents[0].content == '"Kind of" Blue'


JSON_LINE = '{"query": "q", "document": "x", "text": "t"}\n'
CSV_HEAD = "query,document,text,score\n"


@pytest.mark.parametrize(
    ("name", "content", "line", "says"),
    [
        ("p.jsonl", JSON_LINE + "{\n", 2, "JSON object"),
        ("p.jsonl", JSON_LINE + "\n\n[1]\n", 4, "got a JSON array"),
        ("p.jsonl", JSON_LINE + '{"document": "y"}\n', 2, "the field 'query' .* is missing"),
        ("p.jsonl", JSON_LINE + '{"query": "q"}\n', 2, "the field 'document' .* is missing"),
        (
            "p.jsonl",
            JSON_LINE + '{"query": "q", "document": ["y"]}\n',
            2,
            r"expected an id as 'document', got \['y'\]",
        ),
        (
            "p.jsonl",
            JSON_LINE + '{"query": "q", "document": "y", "text": 3}\n',
            2,
            "text as 'text'",
        ),
        ("p.jsonl", JSON_LINE + JSON_LINE, 2, "already in line 1"),
        (
            "p.jsonl",
            JSON_LINE + '{"query": "q", "document": "y", "text": "a", "html": "b"}',
            2,
            "one of",
        ),
        ("p.jsonl", JSON_LINE + '{"query": "q", "document": "y", "score": "high"}', 2, "number"),
        ("p.jsonl", JSON_LINE + '{"query": "q", "document": "y", "score": "1_0"}', 2, "number"),
        ("p.csv", CSV_HEAD + "q,x,t,\u0661\n", 2, "number"),
        ("p.csv", CSV_HEAD + "q,x,t,inf\n", 2, "number"),
        ("p.jsonl", JSON_LINE + '{"query": "q", "document": "y", "score": NaN}', 2, "finite"),
        ("p.jsonl", JSON_LINE + '{"query": "q", "document": "y", "text": "\\u0000"}', 2, "NUL"),
        (
            "p.jsonl",
            JSON_LINE + '{"query": "q", "document": "y", "text": "\\ud800"}',
            2,
            "surrogate",
        ),
        ("p.jsonl", JSON_LINE + '{"query": "q", "document": "a\\nb"}', 2, "printable"),
        ("p.jsonl", JSON_LINE + '{"query": "r", "documents": []}', 2, "list of documents"),
        ("p.jsonl", JSON_LINE + '{"query": "r", "documents": [{"id": "y"}, 3]}', 2, "document 2"),
        (
            "p.jsonl",
            JSON_LINE + '{"query": "r", "documents": [{"id": "y"}, {"id": "y"}]}',
            2,
            "twice",
        ),
        ("p.jsonl", JSON_LINE + "[" * 100_000 + "\n", 2, "JSON object"),
        ("p.csv", CSV_HEAD + "q,x,t\n", 2, "expected 4 fields"),
        ("p.csv", CSV_HEAD + 'q,x,"a\nb",1\nq,y,t,high\n', 4, "number"),
        ("p.csv", CSV_HEAD + 'q,x,"t" no,1\n', 2, "fields between"),
        ("p.csv", CSV_HEAD + 'q,x,t,1\nq,y,"never\nclosed', 3, "fields between"),
        ("p.csv", CSV_HEAD + ",x,t,1\n", 2, "the field 'query' .* is missing"),
    ],
)
def test_a_corrupt_line_is_named(tmp_path, name, content, line, says):
    path = write(tmp_path / name, content)
    with pytest.raises(MalformedLineError, match=says) as caught:
        read_pool(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_bytes_that_are_not_text_are_named(tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_bytes(JSON_LINE.encode() + b'{"query": "\xff"}\n')
    with pytest.raises(MalformedLineError, match="UTF-8 text, got byte 0xff") as caught:
        read_pool(path)
    assert caught.value.line == 2


def test_two_texts_for_one_query_are_an_error(tmp_path):
    rows = ({"query": "q", "query_text": d, "document": d} for d in "xy")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    with pytest.raises(DataError, match="query 'q' has two different texts"):
        read_pool(write(tmp_path / "p.jsonl", lines))


@pytest.mark.parametrize(
    ("name", "content"), [("p.jsonl", ""), ("p.csv", ""), ("p.csv", "query,document\n")]
)
def test_an_empty_pool_is_an_error(tmp_path, name, content):
    with pytest.raises(EmptyDataError, match=name):
        read_pool(write(tmp_path / name, content))


def test_an_unknown_ending_is_an_error(tmp_path):
    with pytest.raises(UsageError, match=r"\.jsonl, \.csv, \.tsv .* or \.arrow"):
        read_pool(write(tmp_path / "pool.xml", ""))


def test_pools_are_checked():
    with pytest.raises(EmptyDataError):
        Pool(())
    with pytest.raises(DataError, match="'q' twice"):
        Pool((PoolQuery("q", documents=(PoolDocument("x"),)),) * 2)
    with pytest.raises(DataError, match="has no documents"):
        PoolQuery("q")
    with pytest.raises(UnknownNameError, match="known: q1, q2"):
        POOL["q3"]


# TREC


RUN = "q1 Q0 x 1 2.5 t\nq1 Q0 y 3 0.5 t\nq2 Q0 x 1 7 t\nq1 Q0 z 2 1.5 t\n"
DOCUMENTS = "".join(
    json.dumps({"_id": d, "title": d.upper(), "text": f"text of {d}"}) + "\n" for d in "vxyz"
)


def test_a_run_with_documents_and_queries(tmp_path):
    run = write(tmp_path / "run.txt", RUN)
    documents = write(tmp_path / "corpus.jsonl", DOCUMENTS)
    plain = write(tmp_path / "queries.tsv", 'q1\t"jazz" music\nq2\tfolk\nq9\tpop\n')
    headed = write(tmp_path / "queries.csv", "qid,text,description\nq1,jazz,no colour\nq2,folk,\n")
    pool = read_trec_pool(run, documents, plain)
    assert [(q.id, q.text) for q in pool] == [("q1", '"jazz" music'), ("q2", "folk")]
    assert [(d.id, d.score, d.content, d.title) for d in pool["q1"].documents] == [
        ("x", 2.5, "text of x", "X"),
        ("z", 1.5, "text of z", "Z"),
        ("y", 0.5, "text of y", "Y"),
    ]
    assert pool["q1"].prior == ("x", "z", "y")
    assert read_trec_pool(run, documents, headed)["q1"].description == "no colour"
    assert read_trec_pool(run, documents, depth=1)["q1"].documents == pool["q1"].documents[:1]
    assert read_trec_pool(run, documents)["q2"].text == "q2"


def test_a_table_with_a_row_per_document_has_the_texts_of_queries_and_documents(tmp_path):
    rows = [
        {"search_id": "q1", "query_text": "jazz", "sku": "x", "title": "X", "description": "red"},
        {"search_id": "q1", "query_text": "jazz", "sku": "y", "title": "Y", "description": None},
        {"search_id": "q1", "query_text": "jazz", "sku": "z", "title": "Z", "description": "blue"},
        {"search_id": "q2", "query_text": "folk", "sku": "x", "title": "X", "description": "red"},
    ]
    run = write(tmp_path / "run.txt", RUN)
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "shop.parquet")
    feather.write_feather(table, tmp_path / "shop.arrow")
    for path in (tmp_path / "shop.parquet", tmp_path / "shop.arrow"):
        pool = read_trec_pool(run, path, path)
        assert [(q.id, q.text, q.description) for q in pool] == [
            ("q1", "jazz", ""),
            ("q2", "folk", ""),
        ]
        assert [d.title for d in pool["q1"].documents] == ["X", "Z", "Y"]
    pq.write_table(table.drop_columns(["description"]), tmp_path / "pool.parquet")
    assert [d.id for d in read_pool(tmp_path / "pool.parquet")["q1"].documents] == ["x", "y", "z"]


def test_what_a_run_names_must_be_there(tmp_path):
    run = write(tmp_path / "run.txt", RUN)
    documents = write(tmp_path / "corpus.jsonl", DOCUMENTS)
    few = write(tmp_path / "few.jsonl", DOCUMENTS.splitlines()[0])
    with pytest.raises(DataError, match=r"few\.jsonl: the file has no document 'x'"):
        read_trec_pool(run, few)
    queries = write(tmp_path / "queries.tsv", "q1\tjazz\n")
    with pytest.raises(DataError, match=r"queries\.tsv: the file has no query 'q2'"):
        read_trec_pool(run, documents, queries)
    twice = write(tmp_path / "twice.jsonl", DOCUMENTS + DOCUMENTS.replace("text of x", "other"))
    with pytest.raises(MalformedLineError, match=r"twice\.jsonl:6: document 'x' .* different"):
        read_trec_pool(run, twice)
    with pytest.raises(MalformedLineError, match=r"queries\.tsv:2: .*3 fields"):
        read_trec_pool(run, documents, write(queries, "q1\tjazz\nq2\tfolk\trock\n"))
    with pytest.raises(MalformedLineError, match=r"queries\.tsv:2: query 'q1' occurs twice"):
        read_trec_pool(run, documents, write(queries, "q1\tjazz\nq1\tfolk\n"))
    with pytest.raises(UsageError, match="depth"):
        read_trec_pool(run, documents, depth=0)


def test_names_of_fields_beside_a_run(tmp_path):
    run = write(tmp_path / "run.txt", "q1 Q0 x 1 2.5 t\n")
    documents = write(tmp_path / "docs.csv", "docno,body,url\nx,Miles,u\n")
    for head in ("query_id,query", "qid,text", "id,query_text", "query,text", "_id,title"):
        queries = write(tmp_path / "queries.csv", f"{head}\nq1,jazz\n")
        pool = read_trec_pool(run, documents, queries)
        assert pool["q1"].text == "jazz"
        assert pool["q1"].documents == (PoolDocument("x", "Miles", score=2.5),)
        assert pool.ignored == ("url",)


# Tasks of a pool


LONG = Pool(
    tuple(PoolQuery(name, documents=tuple(PoolDocument(f"d{i}") for i in range(n)))
          for name, n in (("q1", 40), ("q2", 40), ("q3", 5)))
)  # fmt: skip


def drawn(pool, query):
    return [document.id for document in pool[query].documents]


def test_a_sample_has_so_many_documents_of_each_query_in_the_pools_order():
    found = LONG.sample(10, seed=3)
    for query in ("q1", "q2"):
        places = [int(name[1:]) for name in drawn(found, query)]
        assert len(places) == 10
        assert places == sorted(set(places))
    assert drawn(found, "q1") != drawn(found, "q2")
    assert found["q3"] == LONG["q3"]  # it has fewer


def test_a_sample_depends_on_the_seed_and_not_on_other_queries():
    alone = Pool((LONG["q2"],)).sample(10, seed=3)
    assert alone["q2"] == LONG.sample(10, seed=3)["q2"]
    assert drawn(LONG.sample(10, seed=4), "q2") != drawn(alone, "q2")


def test_every_document_is_drawn_as_often_as_others():
    counts = dict.fromkeys(drawn(LONG, "q1"), 0)
    for seed in range(400):
        for name in drawn(LONG.sample(10, seed=seed), "q1"):
            counts[name] += 1
    # 400 draws of 10 out of 40: 100 each, with a standard deviation of (400 * 1/4 * 3/4) ** 0.5 = 8.7.
    assert 100 - 5 * 8.7 < min(counts.values()) <= max(counts.values()) < 100 + 5 * 8.7


@pytest.mark.parametrize("n", [0, -1, 2.0, True])
def test_a_sample_has_a_document_at_least(n):
    with pytest.raises(UsageError, match="expected a sample of 1 document or more"):
        LONG.sample(n)


def test_a_prior_needs_the_scores_of_all_documents():
    with pytest.raises(
        DataError, match=r"2 of the 3 documents of query 'q1' have none, such as 'y'"
    ):
        make_tasks([("ann", "q1", "preference")], POOL, prior=True)
    assert make_tasks([("ann", "q1", "preference")], POOL)[0].prior is None


def test_tasks_are_the_same_every_time_and_have_orders_of_their_own():
    documents = tuple(PoolDocument(f"d{i}", score=float(i)) for i in range(20))
    pool = Pool((PoolQuery("q", documents=documents),))
    plan = [(f"u{i}", "q", "preference") for i in range(5)] + [("v", "q", "grade")]
    tasks = make_tasks(plan, pool, k=3, strategy="heap", prior=True, grades=("no", "yes"), seed=1)
    assert tasks == make_tasks(
        plan, pool, k=3, strategy="heap", prior=True, grades=("no", "yes"), seed=1
    )
    assert len({task.id for task in tasks}) == 6
    assert len({task.documents for task in tasks}) == 6
    assert all(sorted(task.documents) == sorted(d.id for d in documents) for task in tasks)
    assert (tasks[0].k, tasks[0].strategy, tasks[0].prior[0]) == (3, "heap", "d19")
    assert tasks[-1].grades == ("no", "yes")
    other = make_tasks(plan, pool, seed=2)
    assert [task.id for task in other] == [task.id for task in tasks]
    assert other[0].documents != tasks[0].documents
    assert other[0].prior is None


def test_tasks_need_a_query_and_a_tool_that_are_known():
    with pytest.raises(UnknownNameError, match="unknown query 'q7'"):
        make_tasks([("ann", "q7", "grade")], POOL)
    with pytest.raises(UnknownNameError, match="unknown tool 'grades'"):
        make_tasks([("ann", "q1", "grades")], POOL)


def test_ids_have_the_names_that_data_gives_them(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("search_id,query,product_id,sku,title\ns1,jazz,p1,k9,Miles\n")
    pool = read_pool(path)
    assert [(query.id, query.text) for query in pool] == [("s1", "jazz")]
    assert [document.id for document in pool["s1"].documents] == ["p1"]
    assert pool.ignored == ("sku",)
    path.write_text("query_id,docid,url\nq1,x,https://example.org\n")
    assert [document.id for document in read_pool(path)["q1"].documents] == ["x"]
    path.write_text("query_id,thing\nq1,x\n")
    with pytest.raises(DataError, match=r"'document' \(or document_id, .*product_id, .*sku, url\)"):
        read_pool(path)


def test_fields_of_a_shop_are_shown_to_assessors(tmp_path):
    path = tmp_path / "shop.csv"  # with semicolons, as some programs write
    path.write_text(
        "search_id;query;sku;title;Price;brand\n1;hat;a;Red hat;9,5;\n1;hat;b;Blue hat;8;Acme\n"
    )
    pool = read_pool(path, visible=["price", "brand"])
    assert [d.content for d in pool["1"].documents] == ["Price: 9,5", "Price: 8\nbrand: Acme"]
    assert pool.ignored == ()
    assert read_pool(path).ignored == ("Price", "brand")
    with pytest.raises(
        MalformedLineError, match=r"shop.csv:2: .*unknown field 'prise'; did you mean Price"
    ):
        read_pool(path, visible=["prise"])
    path = tmp_path / "shop.jsonl"
    path.write_text('{"query": "q", "documents": [{"id": "a", "text": "Warm.", "price": 3}]}\n')
    assert read_pool(path, visible=["price"])["q"].documents[0].content == "Warm.\n\nprice: 3"
    path.write_text('{"query": "q", "documents": [{"id": "a", "html": "<p>x", "price": 3}]}\n')
    with pytest.raises(
        MalformedLineError, match="expected text to show fields below, got html of 'a'"
    ):
        read_pool(path, visible=["price"])

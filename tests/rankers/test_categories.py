"""Categories: words of a table become features of a model, with the words kept in its file."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import podium
from podium.data import RankingData, concatenate, scale_by_query, write_csv
from podium.data.categories import MAX_WORDS, Category, category_word, check_forms, read_category
from podium.data.columns import Columns, read_columns, write_columns
from podium.errors import (
    DataError,
    MissingValueError,
    ModelFileError,
    UsageError,
)
from podium.exchange.emulation import emulate
from podium.exchange.model_export import export_model
from podium.rankers import Prepared, RankSVM, permutation_importance
from podium.rankers.category_encoding import CategoryEncoding, learn_encoding
from podium.rankers.prepared_model import PreparedModel

FORMS = {"brand": "onehot", "size": ["S", "M", "L"]}
ROWS = """search_id,sku,grade,price,brand,size
1,a,2,3,Acme,L
1,b,1,4,Bolt,M
1,c,0,5,Acme,S
2,d,0,1,Bolt,S
2,e,2,2,Acme,L
"""


def table(tmp_path, text=ROWS, name="shop.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def shop(tmp_path, text=ROWS, **options):
    return podium.read_table(table(tmp_path, text), categories=FORMS, **options)


def trained(data):
    return Prepared(RankSVM(), impute="none", scale="none").fit(data)


# --- reading ---


def test_x_has_the_place_of_each_word(tmp_path):
    data = shop(tmp_path)
    assert data.feature_names == ("price", "brand", "size")
    assert data.categories["brand"] == Category(("Acme", "Bolt"))
    assert data.categories["size"] == Category(("S", "M", "L"), is_ordered=True)
    assert data.X.tolist() == [[3, 0, 2], [4, 1, 1], [5, 0, 0], [1, 1, 0], [2, 0, 2]]


def test_every_format_reads_the_same(tmp_path):
    data = shop(tmp_path)
    frame = pd.read_csv(tmp_path / "shop.csv", dtype={"search_id": str})
    frame.to_parquet(tmp_path / "shop.parquet")
    frame.to_json(tmp_path / "shop.jsonl", orient="records", lines=True)
    for source in (frame, tmp_path / "shop.parquet", tmp_path / "shop.jsonl"):
        assert podium.read_table(source, categories=FORMS).equals(data)


def test_the_types_of_a_frame_declare_categories(tmp_path):
    data = shop(tmp_path)
    frame = pd.read_csv(tmp_path / "shop.csv", dtype={"search_id": str})
    sizes = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    typed = frame.astype({"brand": "category", "size": sizes})
    own_polars = pl.from_pandas(frame).with_columns(
        pl.col("brand").cast(pl.Categorical), pl.col("size").cast(pl.Enum(["S", "M", "L"]))
    )
    for source in (typed, own_polars):
        assert podium.read_table(source).equals(data)
        columns = {"label": "grade", "query": "search_id", "doc": "sku"}
        assert RankingData.from_frame(source, **columns).equals(data)
        chosen = RankingData.from_frame(source, **columns, features=["brand"])
        assert chosen.categories == {"brand": Category(("Acme", "Bolt"))}
        assert podium.read_table(source, features=["size"]).feature_names == ("size",)
    # What is said by name counts more than the type, and other roles stay as they are.
    named = podium.read_table(typed, categories={"size": "onehot"}, ignore=["brand"])
    assert named.categories == {"size": Category(("L", "M", "S"))}
    ids = typed.assign(title=typed["brand"]).astype({"sku": "category", "search_id": "category"})
    read = podium.read_table(ids)
    assert read.feature_names == ("price", "brand", "size")
    assert read.docids.tolist() == list("abcde")
    assert list(read.doc_text["title"]) == ["Acme", "Bolt", "Acme", "Bolt", "Acme"]


def test_files_that_podium_writes_say_it_themselves(tmp_path):
    data = shop(tmp_path)
    data.to_parquet(tmp_path / "own.parquet")
    assert podium.read_parquet(tmp_path / "own.parquet").equals(data)
    podium.write_letor(data, tmp_path / "own.txt")
    assert podium.read_letor(tmp_path / "own.txt").equals(data)
    write_csv(data, tmp_path / "own.csv")
    assert (
        "qid,docid,label,price,brand,size\n1,a,2,3,Acme,L\n" in (tmp_path / "own.csv").read_text()
    )
    assert podium.read_table(tmp_path / "own.csv", categories=FORMS).equals(data)
    assert data.to_frame()["brand"].tolist() == ["Acme", "Bolt", "Acme", "Bolt", "Acme"]


def test_words_are_the_same_in_every_format():
    values = [True, "True", 17, 17.0, " Acme ", "", None, float("nan"), 1.5]
    words = ["true", "true", "17", "17", "Acme", None, None, None, "1.5"]
    assert [category_word(value) for value in values] == words


def test_a_word_outside_of_the_order_names_file_line_and_column(tmp_path):
    with pytest.raises(
        DataError, match=r"shop\.csv:3: column 'size': expected one of S, M, L, got 'XL'"
    ):
        shop(tmp_path, ROWS.replace("4,Bolt,M", "4,Bolt,XL"))


def test_an_empty_word_is_a_missing_value(tmp_path):
    text = ROWS.replace("4,Bolt,M", "4,,M")
    with pytest.raises(MissingValueError, match=r"shop\.csv:3: column 'brand': .*an empty field"):
        shop(tmp_path, text)
    data = shop(tmp_path, text, missing="nan")
    assert np.isnan(data.X[1, 1])


def test_ids_are_no_category():
    words = [f"id{i}" for i in range(MAX_WORDS + 1)]
    with pytest.raises(
        DataError, match=r"at most 1,000 different words .* got 1,001.*ignore=\['sku'\]"
    ):
        read_category(words, "onehot", "sku", keep_missing=False)


def test_named_features_and_categories_are_both_taken(tmp_path):
    data = podium.read_table(table(tmp_path), features=["price"], categories=["brand"])
    assert data.feature_names == ("price", "brand")


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ("brand", "expected a list of categories"),
        ({"brand": "hot"}, "expected 'onehot' or words in order as category 'brand', got 'hot'"),
        ({"brand": []}, "words in order"),
        ({"brand": ["a", "a"]}, "expected each word of a category once, got 'a' twice"),
        ({"brand": [True, False]}, "words in order"),
    ],
)
def test_wrong_declarations(categories, message):
    with pytest.raises(UsageError, match=message):
        check_forms(categories)


def test_columns_files_keep_categories(tmp_path):
    columns = Columns(query="search_id", categories=FORMS)
    write_columns(columns, tmp_path / "columns.yaml")
    assert read_columns(tmp_path / "columns.yaml") == columns
    (tmp_path / "columns.yaml").write_text("categories: {fair: [no, yes]}\n")
    with pytest.raises(
        DataError, match=r"columns\.yaml: categories: .*got \[False, True\]"
    ) as error:
        read_columns(tmp_path / "columns.yaml")
    assert "need quotes" in error.value.on_command_line()


def test_a_column_of_words_advises_categories(tmp_path):
    frame = pd.read_csv(table(tmp_path))
    with pytest.raises(DataError, match=r"column 'brand'.*categories=\['brand'\]"):
        podium.read_table(frame, features=["price", "brand"])


# --- data ---


def test_parts_of_data_keep_categories(tmp_path):
    data = shop(tmp_path)
    assert data.subset([1]).categories == data.categories
    assert data.fingerprint != data.with_features(data.X).fingerprint
    with pytest.raises(DataError, match="expected numbers to scale, got the category 'brand'"):
        scale_by_query(data)


def test_concatenation_joins_the_words(tmp_path):
    first = shop(tmp_path)
    second = shop(tmp_path, "search_id,grade,price,brand,size,sku\n3,1,1,Aaa,S,x\n")
    both = concatenate([first, second])
    assert both.categories["brand"].words == ("Aaa", "Acme", "Bolt")
    assert both.X[:, 1].tolist() == [1, 2, 1, 2, 1, 0]
    other = podium.read_table(
        table(tmp_path), categories={"brand": "onehot", "size": ["L", "M", "S"]}
    )
    with pytest.raises(DataError, match="expected one order of the words of 'size'"):
        concatenate([first, other.subset([0])])
    less = podium.read_table(table(tmp_path), categories={"brand": "onehot"}, ignore=["size"])
    with pytest.raises(DataError, match="the same categories"):
        concatenate([first, less])


def test_codes_must_be_places_of_words():
    for code in (2.0, -1.0, 0.5):
        with pytest.raises(DataError, match="expected places of 2 words in the category 'brand'"):
            RankingData.from_arrays(
                [[code]], [0], qid=["a"], feature_names=["brand"],
                categories={"brand": Category(("x", "y"))},
            )  # fmt: skip


# --- models ---


def test_one_feature_per_word_and_places_of_an_order(tmp_path):
    data = shop(tmp_path)
    encoding = learn_encoding(data)
    assert encoding.output_names(data.names()) == ["price", "brand=Acme", "brand=Bolt", "size"]
    assert encoding.apply(data.X)[:2].tolist() == [[3, 1, 0, 2], [4, 0, 1, 1]]
    assert encoding.describe() == "2 categories as 3 features"
    # price; Acme + Bolt; size
    assert encoding.fold(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [1, 2 + 4, 8]


def test_the_places_of_outputs_are_computed_once(tmp_path):
    encoding = learn_encoding(shop(tmp_path))
    assert encoding.widths == (1, 2, 1)
    assert encoding.starts == (0, 1, 1 + 2, 1 + 2 + 1)
    assert encoding.starts is encoding.starts
    assert encoding.n_outputs == 4


def test_words_are_learned_on_the_training_queries(tmp_path):
    data = shop(tmp_path, ROWS + "3,f,1,3,Zenith,S\n")
    encoding = learn_encoding(data.subset([0, 1]))
    assert encoding.categories[1].words == ("Acme", "Bolt")
    # Zenith has place 2 in the data, and none in the model: 0 in both features.
    assert encoding.align(data)[5, 1] == -1
    assert encoding.apply(encoding.align(data))[5].tolist() == [3, 0, 0, 0]


def test_a_feature_with_the_name_of_a_word_is_refused(tmp_path):
    data = shop(tmp_path, ROWS.replace("price", "brand=Acme"))
    with pytest.raises(DataError, match=r"^2 features are named 'brand=Acme'.*a category"):
        trained(data)
    assert trained(shop(tmp_path, ROWS.replace("price", "brand=Zenith"))).n_features_in_ == 3
    assert trained(shop(tmp_path, ROWS.replace("price", "size=S"))).n_features_in_ == 3


def test_a_missing_category_is_0_in_all_its_features(tmp_path):
    data = shop(tmp_path, ROWS.replace("4,Bolt,M", "4,,M"), missing="nan")
    assert learn_encoding(data).apply(data.X)[1].tolist() == [4, 0, 0, 1]


def test_a_model_knows_its_words_by_name(tmp_path):
    data = shop(tmp_path)
    ranker = trained(data)
    ranker.save(tmp_path / "m.podium")
    loaded = podium.load(tmp_path / "m.podium")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    # The same documents in a file where Bolt is the first word: other places, the same scores.
    bolt = shop(tmp_path, "\n".join(line for line in ROWS.split("\n") if "Acme" not in line))
    assert bolt.categories["brand"].words == ("Bolt",)
    scores = dict(zip(data.docids.tolist(), ranker.predict(data).tolist(), strict=True))
    assert loaded.predict(bolt).tolist() == [scores["b"], scores["d"]]


def test_explanations_are_about_the_column(tmp_path):
    data = shop(tmp_path)
    ranker = trained(data)
    explanation = ranker.explain(data, "1")
    assert explanation.feature_names == ("price", "brand", "size")
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), explanation.scores)
    assert permutation_importance(ranker, data, repeats=2).feature_names == (
        "price",
        "brand",
        "size",
    )
    assert len(ranker.model_.importance()) == 3


def test_other_categories_than_in_training_are_refused(tmp_path):
    data = shop(tmp_path)
    ranker = trained(data)
    plain = RankingData.from_arrays(data.X, data.y, qid=[1, 1, 1, 2, 2], feature_names=data.names())
    with pytest.raises(DataError, match=r"expected the categories 'brand', 'size', .* got none"):
        ranker.predict(plain)
    with pytest.raises(
        DataError, match=r"expected the categories none, as in training, got 'brand'"
    ):
        trained(plain).predict(data)
    order = {"brand": "onehot", "size": ["S", "M", "L", "XL"]}
    other = podium.read_table(table(tmp_path, ROWS.replace("Bolt,M", "Bolt,XL")), categories=order)
    with pytest.raises(DataError, match=r"trained with 'XL' as 'size'; expected one of S, M, L"):
        ranker.predict(other)


def test_a_frame_may_have_other_columns(tmp_path):
    data = shop(tmp_path)
    ranker = trained(data)
    frame = pd.read_csv(tmp_path / "shop.csv").assign(grade="fair", shop="north")
    for whole in (frame, frame[frame.columns[::-1]], pl.from_pandas(frame)):
        np.testing.assert_array_equal(ranker.predict(whole), ranker.predict(data))
        ranked = ranker.rank(whole, 2, qid=frame["search_id"])
        assert [one.rows.tolist() for one in ranked] == [
            one.rows.tolist() for one in ranker.rank(data, 2)
        ]
    with pytest.raises(DataError, match="the data lacks features of the training data: size"):
        ranker.predict(frame.drop(columns="size"))


def test_numbers_without_words_are_refused(tmp_path):
    data = shop(tmp_path)
    ranker, qid = trained(data), [1, 1, 1, 2, 2]
    nameless = RankingData.from_arrays(data.X, data.y, qid=qid)
    for act in (
        lambda: ranker.predict(data.X),
        lambda: ranker.predict(data.X, qid=qid),
        lambda: ranker.predict(pd.DataFrame(data.X, columns=data.names())),
        lambda: ranker.predict(nameless),
        lambda: ranker.rank(data.X, 2, qid=qid),
        lambda: ranker.explain(nameless, "1"),
    ):
        with pytest.raises(
            DataError, match=r"categories 'brand', 'size', (as in training, got|but)"
        ):
            act()
    plain = podium.read_table(table(tmp_path), ignore=["brand", "size"])
    assert len(trained(plain).predict(plain.X)) == 5


def test_plain_rankers_refuse_categories(tmp_path):
    with pytest.raises(DataError, match=r"^ranksvm needs .* 'brand' is a category; Prepared\("):
        RankSVM().fit(shop(tmp_path))


def test_other_steps_follow(tmp_path):
    data = shop(tmp_path, ROWS.replace("1,b,1,4,", "1,b,1,,"), missing="nan")
    ranker = Prepared(RankSVM(), impute="mean", scale="minmax", clip={"price": (2, None)}).fit(data)
    # Prices 3, -, 5, 1, 2 are clipped to 3, -, 5, 2, 2; their mean is 3; (3 - 2) / (5 - 2) = 1/3.
    prepared = ranker.model_.prepare(data.X)
    np.testing.assert_allclose(prepared[1], [1 / 3, 0, 1, 1 / 2])
    assert ranker.model_.describe() == (
        "2 categories as 3 features, clipped 1 feature, missing values filled in, scaled (minmax)"
    )


def test_tuning_and_comparing(tmp_path):
    lines = [
        f"{q},d{d},{(q + d) % 2},{d},{'Acme' if (q + d) % 2 else 'Bolt'},S"
        for q in range(12)
        for d in range(4)
    ]
    data = shop(tmp_path, "search_id,sku,grade,price,brand,size\n" + "\n".join(lines))
    ranker = Prepared(RankSVM(), impute="none", scale="none")
    result = podium.tune(
        ranker, data.subset(range(8)), data.subset(range(8, 12)), "NDCG@10", {"C": [0.1, 1]}
    )
    assert result.value == result.ranker.score(data) == 1
    report = podium.compare(data, {"svm": ranker}, ["NDCG@10"], folds=3)
    assert report.standing("svm").mean == 1


# --- exports ---


def test_exports_have_a_feature_per_word_and_say_so(tmp_path):
    data = shop(tmp_path)
    ranker = trained(data)
    exported = export_model(ranker, "solr")
    assert exported.features == ("price", "brand=Acme", "brand=Bolt", "size")
    assert "'brand=Acme' is 1 for documents whose brand is 'Acme', else 0" in exported.notes[0]
    assert exported.notes[1].endswith("'size' as a number: S 0, M 1, L 2")
    expected = ranker.predict(data)
    encoded = learn_encoding(data).apply(data.X)
    np.testing.assert_allclose(emulate(exported, encoded), expected, rtol=1e-5)


# --- hostile files ---


def parts_with(tmp_path, categories):
    data = shop(tmp_path)
    parts = trained(data).model_.parts()
    return {
        **parts,
        "categories": json.dumps(categories) if not isinstance(categories, str) else categories,
    }


def record(words=("S",), ordered=False):
    return {"words": list(words), "ordered": ordered}


@pytest.mark.parametrize(
    "categories",
    [
        "{", "[]", "null", '{"features": 3}',
        {"features": 3, "categories": []},
        {"features": 0, "categories": [[0, record()]]},
        {"features": 2**40, "categories": [[0, record()]]},
        {"features": True, "categories": [[0, record()]]},
        {"features": 3, "categories": [[3, record()]]},
        {"features": 3, "categories": [[-1, record()]]},
        {"features": 3, "categories": [[1, record()], [1, record()]]},
        {"features": 3, "categories": [["1", record()]]},
        {"features": 3, "categories": [[1, record(["a", "a"])]]},
        {"features": 3, "categories": [[1, record([1])]]},
        {"features": 3, "categories": [[1, record([""])]]},
        {"features": 3, "categories": [[1, record([f"w{i}" for i in range(MAX_WORDS + 1)])]]},
        {"features": 3, "categories": [[1, record(ordered="yes")]]},
        {"features": 3, "categories": [[1, {**record(), "more": 1}]]},
        {"features": 3, "categories": [[1, "ab"]]},
        # one word for brand: three features come out, and the preparation has four
        {"features": 3, "categories": [[1, record(["Acme"])]]},
    ],
)  # fmt: skip
def test_forged_categories_are_refused(tmp_path, categories):
    with pytest.raises(ModelFileError, match="categories"):
        PreparedModel.from_parts(parts_with(tmp_path, categories))


def test_true_parts_are_read(tmp_path):
    model = trained(shop(tmp_path)).model_
    again = PreparedModel.from_parts(model.parts())
    assert again.encoding.categories == model.encoding.categories
    assert isinstance(again.encoding, CategoryEncoding)


def test_places_outside_of_the_words_are_no_word():
    encoding = CategoryEncoding(1, {0: Category(("a", "b"))})
    X = np.array([[1.0], [7.0], [-3.0], [np.nan]])
    assert encoding.apply(X).tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]


def frames():
    """Return features with categories by their types: one without an order, one with an order."""
    values = {"price": [1.0, 2.0, 3.0, 4.0], "brand": list("abab"), "size": ["S", "L", "M", "S"]}
    order = ["S", "M", "L"]
    yield pd.DataFrame(values).astype(
        {"brand": "category", "size": pd.CategoricalDtype(order, ordered=True)}
    )
    yield pl.DataFrame(values, schema_overrides={"brand": pl.Categorical, "size": pl.Enum(order)})


@pytest.mark.parametrize("frame", list(frames()), ids=["pandas", "polars"])
def test_frames_with_categorical_types_fit_and_predict(frame):
    y, qid = [1, 0, 1, 0], [1, 1, 2, 2]
    words = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    data = RankingData.from_frame(
        words.assign(qid=qid, label=y), categories={"brand": "onehot", "size": ["S", "M", "L"]}
    )
    expected = podium.Prepared(podium.Regression()).fit(data).predict(data)
    ranker = podium.Prepared(podium.Regression()).fit(frame, y, qid=qid, valid=(frame, y, qid))
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    np.testing.assert_array_equal(ranker.predict(frame, qid=qid), expected)
    np.testing.assert_array_equal(ranker.predict(words), expected)  # the model knows its categories
    assert len(ranker.rank(words, 1, qid=qid)) == 2
    # A word that training did not see counts as no word; one of an order is an error.
    strange = words.assign(brand=["a", "z", "a", "b"])
    assert ranker.predict(strange)[0] == expected[0]
    with pytest.raises(DataError, match="expected one of S, M, L, got 'XL'"):
        ranker.predict(words.assign(size=["S", "XL", "M", "S"]))


def test_a_plain_ranker_refuses_categories():
    frame = next(frames())
    for ranker in (podium.Regression(), podium.Ordinal(), podium.RankSVM()):
        with pytest.raises(
            DataError,
            match=rf"{ranker.name} needs numeric features, but 'brand' is a category; Prep",
        ):
            ranker.fit(frame, [1, 0, 1, 0], qid=[1, 1, 2, 2])


def test_frames_of_numbers_as_objects_or_text_are_numbers_as_before():
    plain = pd.DataFrame({"price": [1.0, 2.0, 3.5, 4.0]})
    y, qid = [1, 0, 1, 0], [1, 1, 2, 2]
    expected = podium.Regression().fit(plain, y, qid=qid).predict(plain)
    for frame in (plain.astype(object), plain.astype(str)):
        assert (
            podium.Regression().fit(frame, y, qid=qid).predict(plain).tolist() == expected.tolist()
        )


def test_undeclared_words_of_a_frame_say_how_to_declare_them():
    frame = pd.DataFrame({"price": [1.0, 2.0], "brand": ["a", "b"]})
    with pytest.raises(DataError, match=r"got other columns: brand; declare words by their type, as in "
                       r"X\.astype\(\{'brand': 'category'\}\), or with RankingData\.from_frame"):  # fmt: skip
        podium.Prepared(podium.Regression()).fit(frame, [1, 0], qid=[1, 1])

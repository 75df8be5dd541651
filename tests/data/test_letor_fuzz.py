"""LETOR text with random damage: both kernels agree, and nothing is lost in silence.

PODIUM_CASES says how many texts are tried (a tenth of it with the reference kernels alone).
"""

import itertools
import math
import os
import random

import numpy as np
import pytest

from podium import kernels
from podium.kernels import reference

CHUNKS = 10
CASES = int(os.environ.get("PODIUM_CASES", "10000")) // (1 if kernels.BACKEND == "native" else 10)
WIDTH, MAX_FEATURE = 8, 50

CORPUS = [
    b"2 qid:10032 1:0.056537 2:0.000000 3:0.666667 4:1.000000 #docid = GX029-35-5894638 inc = 0.01",
    b"0 qid:10032 1:0.279152 3:0 8:0.5 #docid = GX030-77-6315042 inc = 1 prob = 0.341364",
    b"1 qid:18219 1:NULL 2:5 3:NULL 4:17 #docid = GX004-93-7097963 inc = 0.0428115405134536",
    b"0.5 qid:a 7:-1.25e-3 5:1e300 2:.5",
    b"4 qid:q:2 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 50:50",
    b"0 qid:7",
    b"3\tqid:7\t1:12345678901234567890\t2:0.1234567890123456789 # two words",
    b"1 qid:7 8:-0 1:4.9e-324 #word\r",
    b"# a comment",
    b"",
    b"1 qid:\xc3\xa9 1:1 #caf\xe9 docid=x",
]
WORDS = [
    *(
        b"NULL",
        b"nan",
        b"-inf",
        b"Infinity",
        b"1e999",
        b"-1e999",
        b"1e-999",
        b"99999999999:1",
        b"qid:",
    ),
    *(
        b"qid:x",
        b"0:1",
        b"51:1",
        b"50:1",
        b"1:1",
        b"08:2",
        b"1:",
        b":1",
        b"#",
        b"\n",
        b"\r",
        b"\t",
        b" ",
    ),
    *(b"docid", b"docid =", b"1e39", b"0x1p3", b"1_000", b"1,5", b"+", b"-", b".", b"e5", b"\x00"),
    *(b"\xff\xfe", b"\xc2\xa0", b"\x0b", b"-3", b"1:2:3", b"0000000000000000000000003:1"),
]


def flip(rng, text):
    at = rng.randrange(len(text))
    return text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1 :]


def replace(rng, text):
    at = rng.randrange(len(text))
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]


def insert(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(WORDS) + text[at:]


def delete(rng, text):
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randint(1, 4) :]


def duplicate(rng, text):
    at = rng.randrange(len(text))
    piece = text[at : at + rng.randint(1, 12)]
    return text[:at] + piece + text[at:]


def truncate(rng, text):
    return text[: rng.randrange(len(text))]


def number(rng):
    form = rng.choice(["{:d}", "{:.6f}", "{!r}", "{:e}", "{:.25g}"])
    if form == "{:d}":
        return form.format(rng.randrange(-3, 10 ** rng.randint(1, 22))).encode()
    return form.format(rng.uniform(-1, 1) * 10.0 ** rng.randint(-330, 308)).encode()


def swap_tokens(rng, text):
    tokens = text.split(b" ")
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return b" ".join(tokens)


def change_token(rng, text):
    tokens = text.split(b" ")
    i = rng.randrange(len(tokens))
    new = rng.choice([rng.choice(WORDS), number(rng), b"%d:%b" % (rng.randint(0, 52), number(rng))])
    tokens[i : i + rng.randint(0, 1)] = [new]
    return b" ".join(tokens)


MUTATIONS = [flip, replace, insert, delete, duplicate, truncate, swap_tokens, change_token]


def damaged(rng):
    """One to four lines with up to three injuries."""
    text = b"\n".join(rng.choice(CORPUS) for _ in range(rng.randint(1, 4)))
    text += rng.choice([b"", b"\n", b"\r\n"])
    for _ in range(rng.randint(0, 3)):
        if text:
            text = rng.choice(MUTATIONS)(rng, text)
    return text


def parse(twin, text, width, dtype, null_is_nan):
    """What a kernel makes of a text, with the matrix it filled (rubbish at first)."""
    x = np.full((text.count(b"\n") + 1, width), 7, dtype=dtype)
    array = np.frombuffer(text, dtype=np.uint8)
    return (*twin.parse_letor(array, x, MAX_FEATURE, null_is_nan), x)


def plain(value):
    """For comparing to the bit."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return value


def unpack(packed):
    text, bounds = packed[0].tobytes(), packed[1].tolist()
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


def document_lines(text):
    """The bodies of the lines that hold a document, as words."""
    bodies = [line.partition(b"#")[0] for line in text.split(b"\n")]
    words = [body.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ") for body in bodies]
    return [row for row in ([word for word in line if word] for line in words) if row]


def value(word):
    return math.nan if word == b"NULL" else float(word)


def assert_all_there(text, block, dtype):
    """Every word of every document line stands in the arrays."""
    labels, starts, run_ids, comments, docids, max_id, lines, _, x = block
    rows = document_lines(text)
    assert len(labels) == len(rows) == len(unpack(comments)) == len(unpack(docids))
    assert lines == text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
    runs = zip(unpack(run_ids), np.diff(starts, append=len(labels)).tolist(), strict=True)
    qids = [qid for qid, length in runs for _ in range(length)]
    expected = np.zeros((len(rows), x.shape[1]), dtype=dtype)
    ids = [0]
    for row, words in enumerate(rows):
        assert labels[row] == float(words[0])
        assert qids[row] == words[1].removeprefix(b"qid:")
        for word in words[2:]:
            feature, _, text_value = word.partition(b":")
            ids.append(int(feature))
            expected[row, ids[-1] - 1] = value(text_value)
    assert max_id == max(ids)
    assert len(ids) - 1 == sum(
        len({w.partition(b":")[0].lstrip(b"0") for w in r[2:]}) for r in rows
    )
    np.testing.assert_array_equal(x[: len(rows)], expected)


def assert_writes_and_reads(twin, block, dtype):
    """Formatted and parsed again, the arrays are the same."""
    labels, starts, run_ids, comments, docids, _, _, _, x = block
    n = len(labels)
    tails = [b"#" + c if c else b"" for c in unpack(comments)]
    tail_offsets = np.cumsum([0, *map(len, tails)], dtype=np.int64)
    text = twin.format_letor(
        np.ascontiguousarray(x[:n]), labels, np.append(starts, n), 0, len(starts), *run_ids,
        np.frombuffer(b"".join(tails), dtype=np.uint8), tail_offsets,
    ).tobytes()  # fmt: skip
    again = parse(twin, text, x.shape[1], dtype, True)
    assert again[7] is None
    assert plain(again[:5]) == plain((labels, starts, run_ids, comments, docids))
    assert again[8][:n].tobytes() == x[:n].tobytes()


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damaged_text(chunk):
    rng = random.Random(chunk)
    read = 0
    for _ in range(math.ceil(CASES / CHUNKS)):
        text, null_is_nan = damaged(rng), rng.random() < 0.7
        dtype = rng.choice([np.float64, np.float64, np.float32])
        block = parse(kernels, text, WIDTH, dtype, null_is_nan)
        if kernels.BACKEND == "native":
            twin = parse(reference, text, WIDTH, dtype, null_is_nan)
            assert plain(block) == plain(twin), text
        if block[5] > WIDTH:  # what the reader does: once more, wide enough
            block = parse(kernels, text, block[5], dtype, null_is_nan)
            if kernels.BACKEND == "native":
                twin = parse(reference, text, block[8].shape[1], dtype, null_is_nan)
                assert plain(block) == plain(twin), text
        if block[7] is None:
            read += 1
            assert_all_there(text, block, dtype)
            assert_writes_and_reads(kernels, block, dtype)
        else:
            before = b"\n".join(text.split(b"\n")[: block[7][1]])
            assert len(unpack(block[3])) == len(document_lines(before))
    assert (
        read > CASES / CHUNKS / 10
    )  # enough of the texts survive for the checks to mean something


def test_the_corpus_is_well_formed():
    text = b"\n".join(CORPUS)
    block = parse(kernels, text, MAX_FEATURE, np.float64, True)
    assert block[7] is None
    assert_all_there(text, block, np.float64)
    assert_writes_and_reads(kernels, block, np.float64)

"""Reading ahead: in order, one item at most, errors where they belong."""

import threading

import pytest

from podium.data.parallel import read_ahead


def test_one_item_is_fetched_while_another_is_used():
    fetched = []
    second = threading.Event()

    def items():
        for n in range(5):
            fetched.append(n)
            if n == 1:
                second.set()
            yield n

    ahead = read_ahead(items())
    assert next(ahead) == 0
    assert second.wait(timeout=60)
    assert fetched == [0, 1]
    assert list(ahead) == [1, 2, 3, 4]


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("broken")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(ValueError, match="broken"):
        next(ahead)


def test_an_end_before_the_last_item_ends_the_thread():
    before = threading.active_count()
    ahead = read_ahead(iter(range(1000)))
    assert next(ahead) == 0
    ahead.close()
    assert threading.active_count() == before

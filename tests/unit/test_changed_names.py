"""Changes of a list of names that stays encoded."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from metastore.encoding.binary import EncodedTexts
from metastore.storage.queries.changed_lists import ChangedLists

WORDS = st.text("a=é\U0010ffff", min_size=1, max_size=3) | st.sampled_from(
    ["a" * 97, "a" * 256, "b" * 512, "a" * 24932]
)
NAMES = st.sets(WORDS, max_size=12)


def encoded(names: set[str]) -> EncodedTexts:
    texts = [name.encode() for name in sorted(names)]
    return EncodedTexts(len(texts), b"".join(len(text).to_bytes(4, "big") + text for text in texts))


@given(NAMES, NAMES, NAMES)
@example({"a", "b", "c"}, {"a", "d"}, set())
def test_a_changed_list_is_that_of_its_names(old: set[str], new: set[str], unchanged: set[str]) -> None:
    changes = [(name, name in new) for name in sorted((old ^ new) | unchanged)]
    assert encoded(old).changed(changes) == encoded(new)


def test_names_of_a_list_are_recorded_up_to_a_limit() -> None:
    lists = ChangedLists()
    assert not lists
    lists.add([1], ["b", "a"])
    lists.add([1], ["c"])
    lists.add([2], ["d"])
    lists.add([2])
    lists.add([2], ["e"])
    lists.add([3], ["x" * 1500])
    lists.add([3], ["y" * 1500])
    lists.add([4], ["f"])
    lists.discard([4, 5])
    assert lists
    assert lists.as_json() == '{"1": ["a", "b", "c"], "2": [], "3": []}'

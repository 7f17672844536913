from __future__ import annotations

from collections.abc import Sequence

import pytest

from promptkit.errors import HistoryError
from promptkit.history.select import (
    Criteria,
    Item,
    Selection,
    exchange_runs,
    link_responses,
    longest_piece,
    merge_runs,
    select_first,
    select_last,
    select_matching,
    select_turns,
)

USER = Item("user")
ANSWER = Item("assistant")
SYSTEM = Item("system")


def calls(*ids: str) -> Item:
    return Item("assistant", calls=ids)


def results(*ids: str) -> Item:
    return Item("tool", responses=ids)


HISTORY = [SYSTEM, USER, calls("a"), results("a"), ANSWER, USER, calls("a", "b"), results("b"), results("a"), ANSWER]


def turns(items: Sequence[Item], budget: int, **options: bool | int) -> Sequence[int]:
    arguments = {"head": 1 if items and items[0].role == "system" else 0, **options}
    return select_turns(len(items), lambda _: 1, budget, describe=items.__getitem__, **arguments).kept  # type: ignore[arg-type]


@pytest.mark.parametrize(("budget", "kept"), [(6, [0, 5, 6, 7, 8, 9]), (9, [0, 5, 6, 7, 8, 9]), (10, [*range(10)])])
def test_turns_stay_whole(budget: int, kept: list[int]) -> None:
    assert turns(HISTORY, budget) == kept


def test_a_current_turn_that_does_not_fit_is_an_error_or_stays() -> None:
    with pytest.raises(HistoryError) as caught:
        turns(HISTORY, 5)
    assert (caught.value.budget, caught.value.needed) == (5, 6)
    assert turns(HISTORY, 5, keep=True) == [0, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([USER, calls("a"), USER, results("a"), USER], [0, 2, 4]),
        ([USER, results("a"), calls("a"), calls("b"), results("b"), USER], [0, 3, 4, 5]),
        ([USER, calls("a"), results("a", "x"), ANSWER, USER], [0, 3, 4]),
        ([USER, calls("a"), results("a"), results("a"), USER], [0, 1, 2, 4]),
        ([USER, calls("a", "a"), results("a"), results("a"), USER], [0, 1, 2, 3, 4]),
        ([results("a"), results("a")], []),
        ([ANSWER, calls("a"), results("a"), calls("b")], [0, 1, 2]),
        ([], []),
    ],
    ids=["user between", "orphan", "mixed", "answered twice", "same id twice", "only results", "no user", "empty"],
)
def test_broken_exchanges_are_left_out(items: list[Item], kept: list[int]) -> None:
    assert turns(items, 100) == kept


def test_whole_keeps_a_call_in_flight_in_the_current_turn_only() -> None:
    items = [USER, calls("a"), USER, calls("b")]
    assert turns(items, 10) == [0, 2]
    assert turns(items, 10, whole=True) == [0, 2, 3]


def test_both_directions_see_the_same_runs() -> None:
    items = [results("x"), USER, calls("a"), results("a"), results("z"), SYSTEM, results("q"), calls("b"), USER]
    forward = [*exchange_runs(items.__getitem__, 0, len(items), backward=False)]
    backward = [*exchange_runs(items.__getitem__, 0, len(items), backward=True)]
    assert forward == backward[::-1]


def test_responses_answer_by_id_in_order() -> None:
    caller = Item("assistant", calls=("a", None, "a", "bad"))
    assert link_responses(caller, [results("a", "bad"), Item("tool", responses=(None, "a", "a"))]) == [
        [0, 3],
        [1, 2, None],
    ]


def test_sizes_are_asked_once_and_only_near_the_kept_end() -> None:
    asked: list[int] = []

    def size(index: int) -> int:
        asked.append(index)
        return 1

    items = [USER, ANSWER] * 5_000
    assert len(select_turns(len(items), size, 9, describe=items.__getitem__).kept) == 8
    assert asked == [*range(9_999, 9_989, -1)]


def test_a_cut_may_go_anywhere_without_pairs() -> None:
    assert select_last(5, lambda _: 1, 3).kept == [2, 3, 4]
    assert select_last(5, lambda _: 1, 3, head=1).kept == [0, 3, 4]
    assert select_last(5, lambda _: 9, 3, head=1).kept == ()
    assert select_first(5, lambda _: 1, 3, ends=lambda index: index == 1).kept == [0, 1]
    assert select_last(5, lambda _: 1, -1).kept == ()


def test_a_part_is_taken_where_a_cut_is_possible() -> None:
    chosen = select_last(3, lambda _: 2, 5, part=lambda index, room: f"{room} of {index}")
    assert chosen == Selection([0, 1, 2], 0, "1 of 0")
    assert chosen.pick(["a", "b", "c"]) == ["1 of 0", "b", "c"]
    assert select_last(3, lambda _: 2, 5, part=lambda *_: "", starts=lambda index: index > 0).kept == [1, 2]


def test_an_exact_measure_has_the_last_word() -> None:
    def exact(selection: Selection) -> int:
        return 2 * len(selection.kept)

    assert select_last(9, lambda _: 1, 7, exact=exact).kept == [6, 7, 8]
    with pytest.raises(HistoryError) as caught:
        select_turns(2, lambda _: 1, 3, describe=[USER, ANSWER].__getitem__, exact=exact)
    assert caught.value.needed == 4


def test_pieces_keep_their_order() -> None:
    pieces = ["alpha ", "beta ", "gamma"]
    assert longest_piece(pieces, lambda text: len(text.split()) <= 2, from_end=True) == "beta gamma"
    assert longest_piece(pieces, lambda text: len(text.split()) <= 2, from_end=False) == "alpha beta "
    assert longest_piece(pieces, lambda _: False, from_end=True) is None


def test_criteria_exclude_first_and_include_by_any() -> None:
    names = ["a", "b", None, "a"]
    ids = ["1", "2", "3", "4"]

    def chosen(include: Criteria, exclude: Criteria) -> list[int]:
        return select_matching(4, names.__getitem__, ids.__getitem__, include=include, exclude=exclude)

    assert chosen(Criteria(), Criteria()) == [0, 1, 2, 3]
    assert chosen(Criteria(names={"a"}, ids={"3"}), Criteria(types=lambda index: index == 3)) == [0, 2]


def test_runs_of_equal_keys() -> None:
    assert [*merge_runs("aab")] == [range(2), range(2, 3)]
    assert [*merge_runs([None, None, 1, 1])] == [range(1), range(1, 2), range(2, 4)]
    assert [*merge_runs([])] == []

"""The outcome of a publish call: visible, failed with its files removed, or uncertain with its files kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_client.errors import (
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchWriteError,
    PermissionDeniedError,
    PublishConflictError,
    ReplyLostError,
    WriteUncertainError,
)
from spark_client.write import publication

LOST, REFUSED, DENIED = ReplyLostError("lost"), MetastoreRefusedError("the disk is full"), PermissionDeniedError("no")
CONFLICT, ENDED = PublishConflictError("changed"), NoSuchWriteError("ended")
AWAY = MetastoreUnavailableError("no server")


class Commit:
    """A write whose publish call has been sent. `ended`: whether a call has ended it, or the error of the question."""

    query_id = "token-7"
    write = SimpleNamespace(table=SimpleNamespace(full_name="d.t"))
    may_be_visible = False

    def __init__(self, ended: bool | Exception, last: bool | Exception) -> None:
        self._ended, self._last = ended, last

    def has_ended(self) -> bool:
        return _given(self._ended)

    def is_last_writer(self, _: Any) -> bool:
        return _given(self._last)


def _given(answer: bool | Exception) -> bool:
    if isinstance(answer, Exception):
        raise answer
    return answer


def publish(replies: list[Exception | None], commit: Commit) -> None:
    def reply(_: Any) -> None:
        if error := replies.pop(0):
            raise error

    context: Any = SimpleNamespace(metastore=SimpleNamespace(publish=reply))
    publishing: Any = {commit: SimpleNamespace(publications=["p"], retired_locations=[])}
    publication._publish(context, publishing)
    assert replies == []


@pytest.mark.parametrize("replies", [[None], [LOST, None], [LOST, LOST, None]])
def test_a_reply_makes_the_write_visible(replies: list[Exception | None]) -> None:
    publish(replies, Commit(ended=AWAY, last=AWAY))


@pytest.mark.parametrize("replies", [[LOST, CONFLICT], [LOST, ENDED], [REFUSED]])
def test_a_call_that_has_ended_the_write_has_succeeded(replies: list[Exception | None]) -> None:
    publish(replies, Commit(ended=True, last=True))


@pytest.mark.parametrize("replies", [[CONFLICT], [ENDED], [DENIED], [AWAY], [REFUSED], [LOST, CONFLICT], [LOST, ENDED]])
def test_a_call_that_has_changed_nothing_fails_and_gives_the_files_up(replies: list[Exception | None]) -> None:
    commit, error = Commit(ended=False, last=AWAY), replies[-1]
    assert error
    with pytest.raises(type(error)) as raised:
        publish(replies, commit)
    assert raised.value is error
    assert not commit.may_be_visible


@pytest.mark.parametrize("replies", [[LOST, REFUSED], [LOST, DENIED], [LOST, AWAY], [LOST, LOST, LOST]])
def test_after_a_lost_reply_other_errors_say_nothing_about_the_first_call(replies: list[Exception | None]) -> None:
    _is_uncertain(replies, Commit(ended=False, last=False))


def test_the_rights_are_checked_before_anything_changes() -> None:
    """So the question whether the write has ended is not asked: it may have ended otherwise."""
    commit = Commit(ended=True, last=True)
    with pytest.raises(PermissionDeniedError):
        publish([DENIED], commit)
    assert not commit.may_be_visible


@pytest.mark.parametrize("answers", [(True, False), (True, AWAY), (AWAY, True)])
def test_without_a_clear_answer_the_files_are_kept(
    answers: tuple[bool | Exception, bool | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "_PAUSES", (0, 0))
    _is_uncertain([REFUSED], Commit(*answers))


def _is_uncertain(replies: list[Exception | None], commit: Commit) -> None:
    with pytest.raises(WriteUncertainError, match=r"token-7 to d\.t is visible is unknown"):
        publish(replies, commit)
    assert commit.may_be_visible

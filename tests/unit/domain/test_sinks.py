"""The setting that names sinks, retries, CloudEvents and their signature."""

from __future__ import annotations

import base64
import json

import pytest

from metastore.domain.cloud_events import Message, message_of, parse_secret, signed_headers
from metastore.domain.event_stream import Wanted
from metastore.domain.sinks import is_rewound, parse_sinks, retry_after, retry_delay
from metastore.errors import ConfigurationError

# The example of the specification (standard-webhooks 1.0, "Signature scheme").
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
IDENTITY, MOMENT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_published_example_is_signed_as_published() -> None:
    other = base64.b64decode("C2FVsBQIhrscChlQIMV+b5sSYspob7oD" + "AAAA")
    headers = signed_headers([parse_secret(SECRET), other], IDENTITY, MOMENT, BODY)
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == (IDENTITY, str(MOMENT))
    first, second = headers["webhook-signature"].split(" ")
    assert first == SIGNATURE
    assert second.startswith("v1,")
    assert second != first


@pytest.mark.parametrize("text", ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA", "whsec_!", f"{SECRET}\nx"])
def test_a_secret_of_another_form_is_rejected_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a secret must be whsec_ and base64 of 24 to 64 bytes$"):
        parse_secret(text)


def test_an_event_is_a_cloud_event() -> None:
    event = {"id": 7, "time": "2026-11-29T08:00:01Z", "type": "ADD_PARTITION", "database": "web", "table": "vïsits"}
    message = message_of(event, "5d8b", "e")
    assert message[:3] == (7, "7@2026-11-29T08:00:01Z", "web.vïsits")
    assert json.loads(message.body) == {
        "specversion": "1.0",
        "id": "7@2026-11-29T08:00:01Z",
        "source": "urn:uuid:5d8b",
        "type": "metastore.add_partition",
        "subject": "web.vïsits",
        "time": "2026-11-29T08:00:01Z",
        "datacontenttype": "application/json",
        "data": event,
    }


def test_messages_about_the_log_have_identities_of_their_epoch() -> None:
    def identity(event: dict[str, object], epoch: str) -> Message:
        return message_of(event, "c", epoch)

    missed, rewound = {"id": 9, "type": "MISSED", "first": 5, "last": 9}, {"id": 9, "type": "REWOUND"}
    identities = {identity(event, epoch).identity for event in (missed, rewound) for epoch in ("a", "b")}
    assert identities == {"5-9@a", "5-9@b", "9@a", "9@b"}
    assert identity(missed, "a").key == ""


def test_sinks_are_parsed() -> None:
    hook, bus = parse_sinks(
        "hook=https://host:8443/a?b=c#secret_file=/s&database=Sales&table=T&type=add_partition,drop_table&attempts=3 "
        " bus=kafka://one:9092,two:9092/events#config_file=/k&timeout=2.5&details=true"
    )
    assert (hook.name, hook.address, hook.shown_address) == ("hook", "https://host:8443/a?b=c", "https://host:8443/a")
    assert hook.wanted == Wanted("sales", "t", ("ADD_PARTITION", "DROP_TABLE"))
    assert (hook.attempts, hook.timeout, hook.details, hook.secret_file) == (3, 15, False, "/s")
    assert (bus.is_kafka, bus.wanted, bus.timeout, bus.details, bus.config_file) == (True, Wanted(), 2.5, True, "/k")
    assert parse_sinks("") == ()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("https://host/", "must begin with a name"),
        ("Hook=https://host/#secret_file=/s", "must begin with a name in lower case"),
        ("hook=ftp://host/#secret_file=/s", "must begin with https://, http:// or kafka://"),
        ("hook=https:///x#secret_file=/s", "must begin with https://"),
        ("hook=https://host:x/#secret_file=/s", "hook: Port"),
        ("hook=https://ann:secret@host/#secret_file=/s", "must have no user and password"),
        ("hook=https://host/ü#secret_file=/s", "must be in ASCII: percent-encode"),
        ("hook=https://host/", "hook needs secret_file"),
        ("hook=https://host/#secret_file=/s&secret=x", "has no option secret; it can have database"),
        ("hook=https://host/#secret_file=/s&table=t", "table needs the option database"),
        ("hook=https://host/#secret_file=/s&attempts=0", "attempts is '0'; it must be a number from 1 to 1000"),
        ("hook=https://host/#secret_file=/s&timeout=nan", "timeout is 'nan'"),
        ("hook=https://host/#secret_file=/s&details=yes", "details is 'yes'; it must be true or false"),
        ("hook=https://host/#nothing", "bad query field"),
        ("https://ann:secret@host/#secret_file=/s", "sinks: 'https' must begin with a name"),
        ("hook=https://host/#secret_file=/s&database=a&database=b", "hook has an option twice"),
        ("hook=https://host/#secret_file=/s%00", "hook: secret_file has a control character"),
        ("hook=https://host/#secret_file=/s&type=insert,ADD_PART", "there are no events of type 'ADD_PART'"),
        ("bus=kafka://host:9092", "must end with a topic"),
        ("bus=kafka://host:9092/a/b", "must end with a topic"),
        ("a=kafka://h/t a=kafka://h/u", "sinks has a twice"),
    ],
)
def test_mistakes_are_named_without_secrets(text: str, error: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_sinks(text)
    assert error in str(raised.value)
    assert "secret@" not in str(raised.value)


def test_delays_grow_to_a_limit_and_keep_what_was_asked() -> None:
    assert [retry_delay(failed, 0) for failed in (1, 2, 3, 9, 10, 1000)] == [1, 2, 4, 256, 300, 300]
    assert retry_delay(10, 1) == 240
    assert (retry_delay(1, 0, 60), retry_delay(10, 0, 60), retry_delay(1, 0, 1e9)) == (60, 300, 86_400)


@pytest.mark.parametrize(
    ("text", "date", "seconds"),
    [
        (None, None, None),
        ("120", None, 120),
        ("1e3", None, None),
        ("-1", None, None),
        ("99999999999", None, 86_400),
        ("soon", None, None),
        ("Thu, 01 Jan 1970 00:01:30 +99999999999", None, None),
        ("Thu, 01 Jan 1970 00:01:30 GMT", None, 30),
        ("Thu, 01 Jan 1970 00:00:30 GMT", None, 0),
        # The sink's clock is a year ahead: its own header Date counts.
        ("Fri, 01 Jan 1971 00:01:30 GMT", "Fri, 01 Jan 1971 00:01:20 GMT", 10),
    ],
)
def test_retry_after_is_read(text: str | None, date: str | None, seconds: float | None) -> None:
    assert retry_after(text, date, 60) == seconds


@pytest.mark.parametrize(
    ("before", "now", "rewound"),
    [
        ("a", "a", False),
        ("a", "b", True),  # metastore db restored
        ("a", "a:17", True),  # the database is behind the witness
        ("a:17", "a:17", False),
        ("a:17", "a", False),  # it was not
        ("a:17", "a:18", True),
        ("a:17", "b", True),
        ("", "a", False),  # the first incarnation
        ("", ":17", True),
        ("", "a:17", True),
    ],
)
def test_a_restore_is_recognised(before: str, now: str, rewound: bool) -> None:
    assert is_rewound(before, now) is rewound

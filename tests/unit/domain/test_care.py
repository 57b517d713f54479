"""Policies of table care: parsing, checks, and the level whose value applies."""

from __future__ import annotations

import pytest

from metastore.domain.care import (
    CATALOG,
    COMPACTION,
    CREATED_PERIOD,
    DATABASE,
    DEFAULT,
    DISCOVER,
    FORMAT,
    KEY,
    KEY_PERIOD,
    MIN_FILES,
    PROPERTIES,
    TABLE,
    TARGET_SIZE,
    Policies,
    check_properties,
    policies,
    read_seconds,
    resolve,
)
from metastore.domain.key_dates import KeyDates, read_dates
from metastore.errors import InvalidObjectError

NOW = 1_706_745_600.0  # 2024-02-01 00:00 UTC


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 604_800),
        ("7 days", 604_800),
        ("1Day", 86_400),
        (" 2h ", 7200),
        ("2hours", 7200),
        ("3m", 180),
        ("3min", 180),
        ("3minutes", 180),
        ("4s", 4),
        ("4seconds", 4),
        ("5", 5),
        ("5L", 5),
        ("1999ms", 1),
        ("-1999msec", -1),
        ("2000000us", 2),
        ("3000000000nsec", 3),
        ("-1", -1),
    ],
)
def test_periods_are_read_as_hive_reads_them(text: str, seconds: int) -> None:
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "1.5d", "1w", "month", "1d 2h", "--1", "1mo", "9" * 19, "١d", "1 millis"])
def test_other_texts_are_no_periods(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        read_seconds(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (DISCOVER, "yes"),
        (CREATED_PERIOD, ""),
        (CREATED_PERIOD, "a week"),
        (KEY_PERIOD, "1y"),
        (KEY, "a,,b"),
        (KEY, "a,A"),
        (FORMAT, "yy-MM-dd"),
        (FORMAT, "yyyy-dd"),
        (COMPACTION, "yes"),
        (TARGET_SIZE, "0"),
        (TARGET_SIZE, "1kb"),
        (TARGET_SIZE, "2 lightyears"),
        (MIN_FILES, "1"),
        ("care.compaction.quiet.period", "-1h"),
        ("care.statistics", "true"),
        ("care.layout", "maybe"),
    ],
)
def test_an_invalid_value_is_one_line_that_names_object_policy_and_valid_values(name: str, text: str) -> None:
    with pytest.raises(InvalidObjectError) as error:
        check_properties("shop.orders", {name: text}, None, ["dt"])
    assert str(error.value) == f"shop.orders: {name} is {text!r}; it must be {PROPERTIES[name].valid}"


def test_valid_values_and_other_properties_pass() -> None:
    check_properties("shop.orders", {name: known.default for name, known in PROPERTIES.items() if known.default})
    values = {DISCOVER: "TRUE", CREATED_PERIOD: "-1", COMPACTION: " On", TARGET_SIZE: "256MiB", "carefree": "x"}
    check_properties("shop.orders", {**values, KEY: "DT", FORMAT: "yyyyMMdd", KEY_PERIOD: "30d"}, None, ["dt"])
    check_properties("Database shop", {KEY: "dt"})


def test_an_unknown_policy_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(InvalidObjectError, match=r"care.compation is no policy; the policies are care.compaction, "):
        check_properties("Database shop", {"care.compation": "on"})


def test_a_value_that_stays_is_not_checked() -> None:
    stored = {CREATED_PERIOD: "a week", "care.future": "1"}
    check_properties("shop.orders", {**stored, COMPACTION: "off"}, stored, ["dt"])
    with pytest.raises(InvalidObjectError, match="'two weeks'"):
        check_properties("shop.orders", {**stored, CREATED_PERIOD: "two weeks"}, stored, ["dt"])


@pytest.mark.parametrize(
    ("new", "keys", "text"),
    [
        (
            {KEY: "day"},
            ["dt"],
            "care.retention.key is 'day', but day is no partition column; its partition columns are dt",
        ),
        ({KEY: "dt"}, [], "care.retention.key is 'dt', but dt is no partition column; the table has no partitions"),
        (
            {KEY: "y,m", FORMAT: "yyyy"},
            ["y", "m"],
            "care.retention.format is 'yyyy', which is for 1 columns, but care.retention.key names 2",
        ),
    ],
)
def test_the_key_of_a_table_must_fit_its_partitions(new: dict[str, str], keys: list[str], text: str) -> None:
    with pytest.raises(InvalidObjectError) as error:
        check_properties("shop.orders", new, None, keys)
    assert str(error.value) == f"shop.orders: {text}"


def test_the_value_of_the_table_precedes_its_databases_and_that_the_catalogs() -> None:
    settings = {
        one.name: one
        for one in resolve(
            ["dt"],
            {COMPACTION: "on"},
            {COMPACTION: "off", CREATED_PERIOD: "30d"},
            {CREATED_PERIOD: "1d", TARGET_SIZE: "1gb"},
        )
    }
    assert (settings[COMPACTION].value, settings[COMPACTION].origin) == ("on", TABLE)
    assert (settings[CREATED_PERIOD].value, settings[CREATED_PERIOD].origin) == ("30d", DATABASE)
    assert (settings[TARGET_SIZE].value, settings[TARGET_SIZE].origin) == ("1gb", CATALOG)
    assert (settings[MIN_FILES].value, settings[MIN_FILES].origin) == ("5", DEFAULT)
    assert DISCOVER not in settings
    found = policies(list(settings.values()), ["dt"])
    assert found == Policies(created_period=30 * 86_400, compaction="on", target_size=2**30)


def test_a_table_switches_off_the_retention_of_its_database() -> None:
    settings = resolve(["dt"], {CREATED_PERIOD: "0"}, {CREATED_PERIOD: "30d"}, None)
    assert policies(settings, ["dt"]).created_period is None


def test_invalid_values_that_another_metastore_stored_have_a_problem_and_no_effect() -> None:
    settings = resolve(["dt"], {CREATED_PERIOD: "a week", COMPACTION: "on"}, None, None)
    problems = {one.name: one.problem for one in settings}
    assert problems[COMPACTION] is None
    assert problems[CREATED_PERIOD] == f"{CREATED_PERIOD} is 'a week'; it must be {PROPERTIES[CREATED_PERIOD].valid}"
    assert policies(settings, ["dt"]) == Policies(compaction="on")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({KEY_PERIOD: "30d"}, "care.retention.key is not set"),
        ({KEY: "dt"}, "care.retention.period is not set"),
        ({KEY: "dt", KEY_PERIOD: "1y"}, f"{KEY_PERIOD} is '1y'; it must be {PROPERTIES[KEY_PERIOD].valid}"),
        (
            {KEY: "day", KEY_PERIOD: "30d"},
            "care.retention.key is 'day', but day is no partition column; its partition columns are dt",
        ),
    ],
)
def test_retention_by_key_needs_all_its_properties(values: dict[str, str], problem: str) -> None:
    settings = resolve(["dt"], None, values, None)
    assert {one.problem for one in settings if one.name in values} == {problem}
    assert policies(settings, ["dt"]).dates is None


def test_retention_by_key_is_read_from_several_levels() -> None:
    levels = ({KEY: "DAY"}, {KEY_PERIOD: "7d"}, {FORMAT: "yyyyMMdd"})
    found = policies(resolve(["Country", "Day"], *levels), ["Country", "Day"])
    assert (found.key_period, found.dates) == (7 * 86_400, KeyDates([1], "yyyyMMdd"))


@pytest.mark.parametrize(
    ("columns", "form", "unit", "cutoff"),
    [
        ([0], None, "day", "20240125"),
        ([0], "yyyyMMdd", "day", "20240125"),
        ([0], "dd.MM.yyyy", "day", "20240125"),
        ([0], "yyyy-MM", "month", "202401"),
        ([0], "yyyy", "year", "2024"),
        ([0], "yyyy-MM-dd'T'HH", "hour", "2024012500"),
        ([0, 1], "yyyyMMdd,H", "hour", "2024012500"),
        ([0, 1, 2], None, "day", "20240125"),
    ],
)
def test_the_cutoff_is_the_period_that_is_not_old_enough(
    columns: list[int], form: str | None, unit: str, cutoff: str
) -> None:
    dates = KeyDates(columns, form)
    assert (dates.unit, dates.cutoff(NOW, 7 * 86_400)) == (unit, cutoff)


def test_a_period_longer_than_the_calendar_expires_nothing() -> None:
    assert KeyDates([0], None).cutoff(NOW, 10**17) == "00010101"


@pytest.mark.parametrize(
    "text", ["", ",", "y", "yyyy-M-dd", "MM", "yyyy,dd", "yyyy-MM,MM", "yyyyYYYY", "yyyy-MM-dd-mm", "yyyyMM'", "yyy\\y"]
)
def test_other_formats_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        read_dates(text)

"""Read-only connections to the database of a source: PostgreSQL and MySQL."""

from __future__ import annotations

import json
import re
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from metastore.errors import ConfigurationError, UnavailableError
from metastore.importing.sources.aggregates import Pairs, Texts, as_map, same
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.hive_schema import HiveSchema, hive_schema
from metastore.importing.sources.latin1 import Latin1Texts
from metastore.importing.sources.texts import without_nul
from metastore.settings import safe_url
from metastore.storage.importing.imports import Finding

Row = tuple[Any, ...]
_ESCAPED_NUL: Final = "\\u0000"
_CONNECT_TIMEOUT: Final = 10  # seconds
_FIRST_OF_SERVER: Final = 1000
_OF_CONNECTION: Final = range(2000, 3000)  # error numbers of MySQL's client library
_SAMPLED: Final = 200_000  # rows of a table in which texts that are not ASCII are looked for
_EXAMPLES: Final = 1_000  # such texts of a column
_SILENCE: Final = 600  # seconds without a reply before the source counts as lost


class SourceConnection(ABC):
    """A connection to a source's database, with the differences between the two systems."""

    latin1: Latin1Texts | None = None
    """Decodes the texts of latin1 columns, if the database has such columns."""
    parameters: ClassVar[str]
    """The SQL of an aggregate of a table with parameters: a JSON object, as text."""
    key_values: ClassVar[str]
    """The SQL of an aggregate of PARTITION_KEY_VALS: the values of a partition as JSON text, for `as_list`."""

    def __init__(self, url: str) -> None:
        """Connects. Raises UnavailableError with one line if that fails."""
        self.address = safe_url(url)
        self.replaced: list[str] = []
        """Texts in which a NUL character was replaced, since the list was last emptied."""
        self.broken = BrokenRows(self.address)
        self._url = url
        self._link = self._opened()
        self.schema = self._read_schema()

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """Runs a query with `%s` for each value, and returns its rows. A tuple stands for a list of an IN.

        Texts are as their writer meant them, and as PostgreSQL can store them: MySQL's may contain NUL. Raises
        UnavailableError if the source stops answering, or lacks a column or a privilege.
        """
        with self._cursor() as cursor:
            cursor.execute(self.schema.sql(statement), values)
            return list(cursor.fetchall())

    def pairs(self, json_text: str) -> Pairs:
        """Returns the content of a JSON object of `parameters`, with texts that PostgreSQL can store."""
        objects: list[Pairs] = self._parsed([json_text])
        return objects[0]

    def _parsed(self, json_texts: list[str]) -> list[Any]:
        # Parsing all texts at once takes half the time.
        joined = ",".join(json_texts)
        objects: list[Any] = json.loads(f"[{joined}]")
        return [self._clean(one) for one in objects] if _ESCAPED_NUL in joined else objects

    def _clean(self, one: Pairs | Texts) -> Pairs | Texts:
        if isinstance(one, list):
            return [text and self._without_nul(text) for text in one]
        return {key: text and self._without_nul(text) for key, text in one.items()}

    def _without_nul(self, text: str) -> str:
        return without_nul(text, self.replaced)

    def maps(self, statement: str, *values: Any) -> dict[Any, Any]:
        """Runs a query of a key and a JSON text (`parameters` or `key_values`), and returns the objects by key."""
        return self.maps_and_texts(statement, *values)[0]

    def maps_and_texts(self, statement: str, *values: Any) -> tuple[dict[Any, Any], dict[Any, str]]:
        """Runs a query as `maps`. Also returns the texts, as far as they are equal to the objects."""
        rows = self.rows(statement, *values)
        keys, texts = [key for key, _ in rows], [text for _, text in rows]
        objects = dict(zip(keys, self._parsed(texts), strict=True))
        return objects, {key: text for key, text in rows if _ESCAPED_NUL not in text}

    def exists(self, table: str) -> bool:
        """Returns whether the table exists and has rows."""
        return self.schema.has(table) and bool(self.rows(f'SELECT 1 FROM "{table}" LIMIT 1'))  # noqa: S608 - a constant

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Opens a read-only transaction: all queries inside see the same state."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def close(self) -> None:
        self._link.close()

    @abstractmethod
    def number_or_null(self, text: str) -> str:
        """Returns the SQL that converts a text to a number, or to null if it is not one."""

    @abstractmethod
    def prefix_of(self, location: str) -> str:
        """Returns the SQL of a location's scheme and authority, for `file:` with the first directory."""

    def has_nul(self, column: str) -> str | None:  # noqa: ARG002 - for MySQL
        """Returns the SQL of whether a text contains NUL; None if texts of the database cannot."""
        return None

    def texts(self, table: str, column: str) -> Callable[[str], str]:  # noqa: ARG002 - for MySQL
        """Returns the function that decodes texts of a column inside a JSON text. `rows` decodes all other texts."""
        return same

    def spellings(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Returns names as a condition of a query finds them."""
        return tuple(texts)

    def texts_findings(self) -> list[Finding]:
        """Returns examples of texts in another encoding than their columns declare."""
        return []

    def map_of(self, table: str, pairs: Pairs | None) -> dict[str, str]:
        """Returns the entries of a JSON object of a table's `parameters`."""
        return as_map(pairs, self.texts(table, "PARAM_VALUE"), self.texts(table, "PARAM_KEY"))

    @staticmethod
    def flag(value: Any) -> bool:
        """Returns a boolean of any database: true, 1, b'\\x01' or 'Y'."""
        return value in (True, 1, b"\x01", "1", "Y", "y", "t", "true", "TRUE")

    @abstractmethod
    def _opened(self) -> Any: ...

    @abstractmethod
    def _read_schema(self) -> HiveSchema: ...

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _end(self) -> None: ...

    @abstractmethod
    def _cursor(self) -> Any: ...


class PostgresConnection(SourceConnection):
    """A source on PostgreSQL. Transactions are REPEATABLE READ READ ONLY."""

    parameters = 'json_object_agg("PARAM_KEY", "PARAM_VALUE" ORDER BY "PARAM_KEY")::text'
    key_values = 'json_agg("PART_KEY_VAL" ORDER BY "INTEGER_IDX")::text'

    def number_or_null(self, text: str) -> str:
        return f"CASE WHEN {text} ~ '^[0-9]{{1,18}}$' THEN {text}::bigint END"

    def prefix_of(self, location: str) -> str:
        return (
            f"coalesce(substring({location} from '^(?:file:(?://)?/[^/]+|[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?)'), '')"
        )

    def _opened(self) -> Any:
        import psycopg2  # type: ignore[import-untyped] # it has no types

        try:
            link = psycopg2.connect(
                self._url,
                connect_timeout=_CONNECT_TIMEOUT,
                application_name="metastore import",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
            )
        except (psycopg2.Error, UnicodeDecodeError) as error:
            raise UnavailableError(f"{self.address} cannot be read: {_line(error)}") from None
        link.set_session(readonly=True, isolation_level="REPEATABLE READ", autocommit=True)
        return link

    def _read_schema(self) -> HiveSchema:
        columns: dict[str, list[str]] = {}
        with self._cursor() as cursor:
            cursor.execute("""
                SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = ANY (current_schemas(false))
            """)
            for table, column in cursor.fetchall():
                columns.setdefault(table, []).append(column)
        return hive_schema(columns, self.address)

    def _begin(self) -> None:
        with self._cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _end(self) -> None:
        if not self._link.closed:
            with self._cursor() as cursor:
                cursor.execute("ROLLBACK")

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        import psycopg2

        try:
            with self._link.cursor() as cursor:
                yield cursor
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            raise UnavailableError(f"{self.address} does not answer: {_line(error)}") from None
        except psycopg2.Error as error:  # such as a missing column or privilege
            reason = error.diag.message_primary or _line(error)
            raise UnavailableError(f"{self.address} cannot be read: {reason}") from None


class MySqlConnection(SourceConnection):
    """A source on MySQL or MariaDB. Transactions are REPEATABLE READ READ ONLY, with a consistent snapshot."""

    parameters = 'JSON_OBJECTAGG("PARAM_KEY", "PARAM_VALUE")'
    key_values = 'JSON_OBJECTAGG("INTEGER_IDX", "PART_KEY_VAL")'

    def __init__(self, url: str) -> None:
        super().__init__(url)
        free = (one for one in self.schema.latin1 if "NOTIFICATION" not in one[0])  # the log repeats texts
        self._latin1 = Latin1Texts(free, self._not_ascii)
        self.latin1 = self._latin1 if self.schema.latin1 else None

    def rows(self, statement: str, *values: Any) -> list[Row]:
        with self._cursor() as cursor:
            cursor.execute(self.schema.sql(statement), values)
            # The columns of the tables: the character set of a result is always that of the connection.
            fields = cursor._result.fields  # noqa: SLF001 - PyMySQL has no method for it
            rows = cursor.fetchall()
        columns = [(field.org_table.upper(), field.org_name.upper()) for field in fields]
        decoders = [self._storable(self.texts(*column)) for column in columns]
        cells = (zip(row, decoders, strict=True) for row in rows)
        return [tuple([decoded(one) if one.__class__ is str else one for one, decoded in row]) for row in cells]

    def _storable(self, decoded: Callable[[str], str]) -> Callable[[str], str]:
        if decoded is same:
            return self._without_nul
        return lambda text: self._without_nul(decoded(text))

    def texts(self, table: str, column: str) -> Callable[[str], str]:
        return self._latin1.decoded if (table, column) in self.schema.latin1 else same

    def spellings(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._latin1.spellings(texts))

    def texts_findings(self) -> list[Finding]:
        return self._latin1.findings()

    def _not_ascii(self, column: tuple[str, str]) -> list[str]:
        table, name = (f'"{part}"' for part in column)
        longer = f"LENGTH(CONVERT({name} USING utf8mb4)) <> CHAR_LENGTH({name})"
        some = f"SELECT {name} FROM {table} LIMIT {_SAMPLED}"  # noqa: S608 - names of the schema
        with self._cursor() as cursor:
            query = f"SELECT DISTINCT {name} FROM ({some}) x WHERE {longer} LIMIT {_EXAMPLES}"  # noqa: S608 - the same
            cursor.execute(self.schema.sql(query))
            return [text for (text,) in cursor.fetchall()]

    def number_or_null(self, text: str) -> str:
        return f"CASE WHEN {text} REGEXP '^[0-9]{{1,18}}$' THEN CAST({text} AS SIGNED) END"

    def prefix_of(self, location: str) -> str:
        return f"COALESCE(REGEXP_SUBSTR({location}, '^(file:(//)?/[^/]+|[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?)'), '')"

    def has_nul(self, column: str) -> str:
        return f"LOCATE(CHAR(0), {column}) > 0"

    def _opened(self) -> Any:
        try:
            import pymysql
        except ModuleNotFoundError:
            raise ConfigurationError(
                "A MySQL source needs the Python package PyMySQL: pip install 'metastore[mysql]'"
            ) from None
        parts = urlsplit(re.sub(r"^(mysql|mariadb)\+\w+:", r"\1:", self._url))
        try:
            link = pymysql.connect(
                host=parts.hostname or "127.0.0.1",
                port=parts.port or 3306,
                user=unquote(parts.username or ""),
                password=unquote(parts.password or ""),
                database=unquote(parts.path.lstrip("/")) or None,
                charset="utf8mb4",
                connect_timeout=_CONNECT_TIMEOUT,
                read_timeout=_CONNECT_TIMEOUT,  # of the handshake, which `connect_timeout` does not cover
                autocommit=True,
                init_command="SET SESSION sql_mode = 'ANSI_QUOTES', group_concat_max_len = 1073741824",
                **_tls_options(self.address, parts.query),
            )
        except (pymysql.Error, OSError, ValueError) as error:
            raise UnavailableError(f"{self.address} cannot be read: {_line(error)}") from None
        link._read_timeout = _SILENCE  # noqa: SLF001 - PyMySQL has no method for it
        return link

    def _read_schema(self) -> HiveSchema:
        columns: dict[str, list[str]] = {}
        latin1 = set()
        with self._cursor() as cursor:
            cursor.execute("""
                SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_SET_NAME FROM information_schema.COLUMNS
                WHERE TABLE_SCHEMA = DATABASE()
            """)
            for table, column, charset in cursor.fetchall():
                columns.setdefault(table, []).append(column)
                if charset == "latin1":
                    latin1.add((table.upper(), column.upper()))
        return hive_schema(columns, self.address, frozenset(latin1))

    def _begin(self) -> None:
        with self._cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    def _end(self) -> None:
        if self._link.open:
            with self._cursor() as cursor:
                cursor.execute("ROLLBACK")

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        import pymysql

        try:
            with self._link.cursor() as cursor:
                yield cursor
        except (pymysql.Error, OSError) as error:
            fault = "cannot be read" if _is_rejection(error) else "does not answer"
            raise UnavailableError(f"{self.address} {fault}: {_line(error)}") from None


def _tls_options(address: str, query: str) -> dict[str, ssl.SSLContext]:
    """Returns the options of PyMySQL for the TLS parameters of an address. Raises ConfigurationError for other ones.

    Without a context, PyMySQL uses TLS only if the server, or somebody between, offers it.
    """
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    unknown = [name for name in parameters if re.search("ssl|tls", name.lower()) and name not in ("ssl", "ssl_ca")]
    if unknown:
        raise ConfigurationError(f"{address}: unknown parameter {unknown[0]}; use ssl=true or ssl_ca=FILE for TLS")
    if parameters.get("ssl", "true") not in ("", "true", "1"):
        raise ConfigurationError(f"{address}: ssl={parameters['ssl']} is not supported; use ssl=true, or omit it")
    if not parameters.keys() & {"ssl", "ssl_ca"}:
        return {}
    try:
        return {"ssl": ssl.create_default_context(cafile=parameters.get("ssl_ca"))}
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"{address}: ssl_ca={parameters['ssl_ca']} cannot be read: {reason}") from None


def connect(url: str) -> SourceConnection:
    """Connects to the database of a source. Raises ConfigurationError, UnavailableError."""
    scheme = url.partition(":")[0].partition("+")[0]
    kinds: Mapping[str, type[SourceConnection]] = {
        "postgresql": PostgresConnection,
        "postgres": PostgresConnection,
        "mysql": MySqlConnection,
        "mariadb": MySqlConnection,
    }
    plain = re.sub(r"^(postgres|postgresql)\+\w+:", r"\1:", url)
    return kinds[scheme](plain)


def with_keys(condition: str) -> str:
    """Returns a condition on rows of parameters that also excludes those without a key."""
    return f'{condition} AND "PARAM_KEY" IS NOT NULL'


def chosen(column: str, ids: Iterable[int]) -> tuple[str, tuple[Any, ...]]:
    """Returns a condition that rows with these ids satisfy, and its values.

    If the ids are dense, it is a range, and rows in between satisfy it, too.
    """
    wanted = sorted(set(ids))
    if wanted and wanted[-1] - wanted[0] < 2 * len(wanted):
        return f"{column} BETWEEN %s AND %s", (wanted[0], wanted[-1])
    return f"{column} IN %s", (tuple(wanted) or (-1,),)


def _is_rejection(error: BaseException) -> bool:
    """Returns whether MySQL rejected a statement. Errors of a connection have the numbers 2000 to 2999, or none."""
    number = error.args[0] if error.args else None
    return isinstance(number, int) and number >= _FIRST_OF_SERVER and number not in _OF_CONNECTION


def _line(error: BaseException) -> str:
    text = " ".join(str(error.args[-1] if error.args else error).split())
    return text or error.__class__.__name__

"""Sessions that block others: what PostgreSQL hides from the role of the servers, and the right that shows it."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.monitoring.logs import session_line
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.blocking import Blocking
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres

_PREPARABLE = {"max_prepared_transactions": "5"}
_LOCK = text("SELECT pg_advisory_xact_lock(1)")


def test_a_session_of_another_role(database_url: str) -> None:
    role = f"plain_{make_url(database_url).database}"
    execute(database_url, f"CREATE ROLE {role} LOGIN")
    blocking_engine = create_engine(database_url, poolclass=NullPool, connect_args={"application_name": "somebody"})
    engine = create_engine(make_url(database_url).set(username=role), poolclass=NullPool)
    with blocking_engine.connect() as blocker, engine.connect() as waiting, engine.connect() as reader:
        pid, user, _ = blocker.execute(text("SELECT pg_backend_pid(), current_user, pg_advisory_xact_lock(1)")).one()
        waiter = waiting.scalar(text("SELECT pg_backend_pid()"))
        with ThreadPoolExecutor(1) as thread:
            thread.submit(waiting.execute, _LOCK)
            try:
                while not (sessions := Blocking(Session(reader)).sessions([waiter])):
                    threading.Event().wait(0.02)
            finally:
                blocker.rollback()
    blocking_engine.dispose()
    engine.dispose()
    execute(database_url, f"DROP ROLE {role}")
    (line,) = map(session_line, sessions[waiter])
    assert line == f"pid {pid}, somebody of {user}, its state is hidden: GRANT pg_read_all_stats TO {role}"


def test_a_prepared_transaction() -> None:
    with reachable_folder() as folder, installed_postgres(folder, tls=False, settings=_PREPARABLE) as url:
        engine = create_engine(url, poolclass=NullPool)
        with engine.connect() as blocker, engine.connect() as waiting, engine.connect() as reader:
            blocker.execute(text("CREATE TABLE t (x int)"))
            blocker.commit()
            blocker.execute(text("LOCK TABLE t"))
            blocker.execute(text("PREPARE TRANSACTION 'left behind'"))
            blocker.rollback()
            waiter = waiting.scalar(text("SELECT pg_backend_pid()"))
            with ThreadPoolExecutor(1) as thread:
                thread.submit(waiting.execute, text("SELECT count(*) FROM t"))
                try:
                    while not (sessions := Blocking(Session(reader)).sessions([waiter])):
                        threading.Event().wait(0.02)
                finally:
                    ended = blocker.execution_options(isolation_level="AUTOCOMMIT")
                    ended.execute(text("ROLLBACK PREPARED 'left behind'"))
        engine.dispose()
    (line,) = map(session_line, sessions[waiter])
    assert re.fullmatch(r"prepared transaction left behind of \w+, prepared [\d.]+ s ago: COMMIT PREPARED .*", line)

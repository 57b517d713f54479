"""The restrictions of a sandboxed process. Each test runs a process of its own."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from spark_client import sandbox
from spark_client.gateway.driver_process import free_port

try:
    sandbox.check()
except sandbox.SandboxError as missing:
    pytestmark = pytest.mark.skip(reason=str(missing))

# Prints the outcome of each attempt: the name of the error, or what it returned.
ATTEMPTS = """
import ctypes, os, signal, socket, subprocess, sys
other, readable, writable, outside = int(sys.argv[1]), *sys.argv[2:]

def text(path):
    with open(path) as file:
        return file.read()

def capabilities():
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # capget(2), version 3
    assert ctypes.CDLL(None).capget(header, sets) == 0
    return sum(sets)

def attempt(call):
    try:
        print(call())
    except OSError as error:
        print(type(error).__name__)

attempt(lambda: text(f"{readable}/file"))
attempt(lambda: open(f"{writable}/file", "w").write("abc"))
attempt(lambda: open(f"{readable}/new", "w"))
attempt(lambda: text(f"{outside}/file"))
attempt(lambda: os.listdir(outside))
attempt(lambda: os.rename(f"{writable}/file", f"{outside}/file"))
attempt(lambda: os.symlink(f"{outside}/file", f"{writable}/link"))
attempt(lambda: text(f"{writable}/link"))
attempt(lambda: text(f"/proc/{other}/environ"))
attempt(lambda: text(f"/proc/{other}/maps"))
attempt(lambda: os.kill(other, signal.SIGTERM))
attempt(lambda: text("/etc/shadow"))
attempt(lambda: subprocess.run(["cat", f"{outside}/file"], capture_output=True).returncode)
attempt(lambda: text(f"/proc/{other}/cmdline"))
attempt(capabilities)
attempt(lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt(lambda: socket.create_server(("127.0.0.1", int(os.environ["PYTHON_PORT"]))))
"""


def test_a_restricted_process_reaches_only_its_directories(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("readable", "writable", "outside")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    readable, writable, outside = map(str, folders)
    # By name, since the directory of a test can be in the PATH of Python's modules.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHON_PORT"] = str(free_port())
    with subprocess.Popen(["sleep", "60"], env={"SECRET": "secret"}) as other:
        command = [sys.executable, sandbox.__file__, readable, writable, sys.executable, "-c", ATTEMPTS]
        ran = subprocess.run(
            [*command, str(other.pid), readable, writable, outside],
            env=environment,
            cwd=writable,
            capture_output=True,
            text=True,
            check=False,
        )
        assert other.poll() is None
        other.kill()
    denied = "PermissionError"
    assert ran.stdout.split() == [
        *("readable", "3", denied),
        *(denied, denied, denied),
        *("None", denied),
        *(denied, denied, denied),
        *(denied, "1", denied, "0"),
        *("None", denied),
    ], ran.stderr
    assert (folders[2] / "file").read_text() == "outside"


def test_a_restricted_process_restricts_its_children_further(tmp_path: Path) -> None:
    """As a driver does with its Python functions."""
    (outer := tmp_path / "outer").mkdir()
    (inner := outer / "inner").mkdir()
    (outer / "file").write_text("text")
    code = f"import os; os.listdir({str(inner)!r}); open({str(outer / 'file')!r})"
    program = [sys.executable, sandbox.__file__]
    command = [*program, str(outer), str(outer), *program, str(inner), str(inner), sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=inner, capture_output=True, text=True, check=False)
    assert "PermissionError" in ran.stderr, ran.stderr
    assert "outer/file" in ran.stderr


@pytest.mark.parametrize("version", [-1, 1, 5])
def test_a_kernel_with_an_older_landlock_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    libc = SimpleNamespace(syscall=lambda *_: version)
    monkeypatch.setattr(sandbox, "_libc", lambda: libc)
    with pytest.raises(sandbox.SandboxError, match=r"^[^\n]*Landlock[^\n]*--share-level server$"):
        sandbox.check()


def test_a_program_gets_no_credentials_of_others(tmp_path: Path) -> None:
    command = [sys.executable, sandbox.__file__, str(tmp_path), str(tmp_path), sys.executable, "-c"]
    environment = {"AWS_SECRET_ACCESS_KEY": "x", "METASTORE_CLIENT_TOKEN": "x", "PATH": "/bin", "PYTHONHASHSEED": "1"}
    ran = subprocess.run(
        [*command, "import os; print(sorted(os.environ))"], env=environment, capture_output=True, text=True, check=False
    )
    names = set(ast.literal_eval(ran.stdout))
    assert names & environment.keys() == {"PATH", "PYTHONHASHSEED"}, ran.stderr


ORPHANS = """
import os, subprocess, sys, time
from spark_client import sandbox

sandbox.adopt_orphans()
orphan = '''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1)
        time.sleep(600)
    os._exit(0)
os.wait()
'''
subprocess.run([sys.executable, "-c", "import os; os.fork()"], stdin=subprocess.DEVNULL)
while sandbox._children():
    sandbox.reap_orphans()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
started = subprocess.run([sys.executable, "-c", orphan], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
sandbox.kill_descendants()
left = [pid for pid in (child.pid, int(started.stdout)) if os.path.exists(f"/proc/{pid}")]
print("left:", left)
"""


def test_no_descendant_survives() -> None:
    ran = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout == "left: []\n", ran.stderr

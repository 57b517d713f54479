"""Restricts this process and its children to some directories, with Linux's Landlock.

A restricted process cannot read the memory or environment of processes outside, signal them, or lift the restriction.
Restricting needs no privilege. A process of root also gives up root's capabilities. See landlock(7), capabilities(7).

As a program, `sandbox.py READABLE WRITABLE COMMAND…` runs a command with these two directories, without the variables
and the command lines of other programs: they can hold credentials, such as AWS_SECRET_ACCESS_KEY. The command cannot
choose the TCP ports on which it listens, so it cannot take the port of a server that has ended. It imports nothing of
this project, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on all architectures
_VERSION_FLAG, _PATH_BENEATH, _PORT = 1, 1, 2
_SUBREAPER: Final = 36  # option of prctl
_NO_NEW_PRIVILEGES, _DROP_CAPABILITY, _SECURE_BITS, _GET_SECURE_BITS = 38, 24, 28, 27  # options of prctl
_NO_ROOT = 0b11  # SECBIT_NOROOT, locked
_CAPABILITIES = 64
_MIN_ABI: Final = 6  # Linux 6.12: the first that also isolates signals
# Rights of linux/landlock.h. Version 6 knows the first 16.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_ALL: Final = (1 << 16) - 1
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_SCOPES: Final = 0b11  # abstract Unix sockets, signals
_BIND: Final = 1 << 0  # of TCP ports
# Directories and files that Python and Java read. /etc holds secrets, too, so it is not here as a whole.
_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/sys", "/dev/random", "/dev/urandom"),
    *("/proc/cpuinfo", "/proc/filesystems", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/version"),
    *("/etc/alternatives", "/etc/ca-certificates", "/etc/group", "/etc/gai.conf", "/etc/hadoop", "/etc/host.conf"),
    *("/etc/hostname", "/etc/hosts", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/krb5.conf"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"),
    *("/etc/nsswitch.conf", "/etc/passwd", "/etc/pki", "/etc/resolv.conf", "/etc/spark", "/etc/ssl", "/etc/timezone"),
)
_PROCESSES: Final = "/proc"  # shows the command lines of all processes
# Variables of Python, Spark and numerical libraries, by name or prefix.
_VARIABLES: Final = (
    *("HOME", "LANG", "LC_", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"),
    *("ARROW_", "MKL_", "NUMEXPR_", "OMP_", "OPENBLAS_", "PYSPARK_", "PYTHON", "SPARK_"),
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/tty")


class SandboxError(OSError):
    """The process cannot be restricted. Its message is one line."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def check() -> None:
    """Raises SandboxError if this machine has no Landlock, or an older version of it."""
    if sys.platform != "linux" or _libc().syscall(_CREATE, None, 0, _VERSION_FLAG) < _MIN_ABI:
        raise SandboxError(
            "drivers of several users need Linux 6.12 or newer with Landlock, which isolates them: boot with "
            "lsm=landlock,…, or use one driver for all clients with --share-level server"
        )


def restrict(readable: Iterable[str], writable: Iterable[str], *, processes: bool = True, ports: bool = True) -> None:
    """Restricts the calling thread and everything that it starts: call it before other threads start.

    `processes`: whether the information about processes in /proc stays readable, which Java needs. `ports`: whether it
    may choose TCP ports to listen on; otherwise the kernel chooses an ephemeral one. Files of the system, of this
    Python, of Spark and of Java stay readable. Raises SandboxError.
    """
    check()
    libc = _libc()
    rules = _Ruleset(_ALL, 0 if ports else _BIND, _SCOPES)
    ruleset = _checked(libc.syscall(_CREATE, ctypes.byref(rules), ctypes.sizeof(rules), 0))
    if not ports:
        _checked(libc.syscall(_ADD, ruleset, _PORT, ctypes.byref(_NetPort(_BIND, 0)), 0))
    for path in {*_SYSTEM, *([_PROCESSES] if processes else ()), *_own(), *readable}:
        _allow(libc, ruleset, path, _READ)
    for path in {*_DEVICES, *writable}:
        _allow(libc, ruleset, path, _ALL)
    if os.geteuid() == 0 and libc.prctl(_GET_SECURE_BITS, 0, 0, 0, 0) != _NO_ROOT:
        _give_up_capabilities(libc)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants whose own parents end: see PR_SET_CHILD_SUBREAPER in prctl(2).

    So no descendant escapes from `kill_descendants`. Raises SandboxError.
    """
    _checked(_libc().prctl(_SUBREAPER, 1, 0, 0, 0))


def reap_orphans() -> None:
    """Removes children that have ended from the table of processes. Nothing else waits for adopted processes."""
    with suppress(ChildProcessError):  # there are no children
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def kill_descendants() -> None:
    """Kills all children of this process, then the children that it adopts from them, until none is left."""
    while children := _children():
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with suppress(ChildProcessError):  # another thread has waited for it
                os.waitpid(child, 0)


def _children() -> list[int]:
    """Lists the children of this process."""
    children = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            after_name = (process / "stat").read_text(errors="replace").rpartition(")")[2]  # the name can hold blanks
            if after_name.split()[1] == str(os.getpid()):
                children.append(int(process.name))
    return children


def _own() -> list[str]:
    """Returns the directories of this Python and its packages, of Spark and of Java."""
    variables = ("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HIVE_CONF_DIR")
    named = [os.environ[name] for name in variables if os.environ.get(name)]
    return [sys.prefix, sys.base_prefix, *named, *(path for path in sys.path if path)]


def _allow(libc: Any, ruleset: int, path: str, allowed: int) -> None:
    """Allows operations at and below a path, if it exists."""
    try:
        directory = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathBeneath(allowed if Path(path).is_dir() else allowed & _OF_FILES, directory)
        _checked(libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(directory)


def _give_up_capabilities(libc: Any) -> None:
    """Makes root an ordinary user: programs that it starts get no capabilities, and this process has none."""
    _checked(libc.prctl(_SECURE_BITS, _NO_ROOT, 0, 0, 0))
    for capability in range(_CAPABILITIES):
        if libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0) != 0:
            break  # the kernel knows no more capabilities
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    _checked(libc.capset(header, (ctypes.c_uint32 * 6)()))


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        raise SandboxError(f"the driver cannot restrict itself: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    restrict(sys.argv[1:2], sys.argv[2:3], processes=False, ports=False)
    variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
    os.execve(sys.argv[3], sys.argv[3:], variables)  # noqa: S606 - no shell

"""A kernel without the Landlock that separates users: the command ends with one line."""

from __future__ import annotations

import subprocess
import sys

# Makes the system call fail as on a kernel that does not have it. See seccomp(2); the program is classic BPF.
WITHOUT_LANDLOCK = """
import ctypes, struct, sys
ENOSYS, LANDLOCK_CREATE_RULESET, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 38, 444, 22, 38
program = b"".join(struct.pack("=HBBI", *line) for line in [
    (0x20, 0, 0, 0), (0x15, 0, 1, LANDLOCK_CREATE_RULESET), (0x06, 0, 0, 0x00050000 | ENOSYS), (0x06, 0, 0, 0x7FFF0000)
])
buffer = ctypes.create_string_buffer(program, len(program))
filter = struct.pack("@HP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, 2, ctypes.c_char_p(filter), 0, 0) == 0, ctypes.get_errno()
from spark_client.commands.gateway import main
sys.exit(main(["--uri=thrift://127.0.0.1:1", "--thrift=10000"]))
"""


def test_the_gateway_does_not_start() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_LANDLOCK], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "metastore: drivers of several users need Linux 6.12 or newer with Landlock, which isolates them: boot with "
        "lsm=landlock,…, or use one driver for all clients with --share-level server\n"
    )

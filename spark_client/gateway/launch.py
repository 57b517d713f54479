"""The launch command: a program of the administrator that starts drivers, each as its user of the operating system."""

from __future__ import annotations

import pwd
import re
import shlex
import shutil
from typing import Final

from spark_client.errors import SessionError

_USER: Final = "{user}"
# No option, no number (a user id), and no character that separates parts of a name: alice:group, alice@host, a/b.
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,254}")
_FIRST_ID: Final = 1000  # UID_MIN in login.defs(5): lower ids belong to root and to services
_NOBODY: Final = 65534


class Launch:
    """The words of a launch command, such as `sudo -n -u {user} --`. No shell reads them."""

    def __init__(self, text: str) -> None:
        """Raises SessionError if the text is not a command, or does not name the user."""
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise SessionError(f"--launch {text}: {error}") from None
        if not any(_USER in word for word in self._words[1:]) or _USER in self._words[0]:
            raise SessionError(
                f"--launch {text}: write a program with {_USER} in one of its arguments, such as "
                f"'sudo -n -u {_USER} --'. Without it, all drivers would be one user of the operating system"
            )
        if shutil.which(self._words[0]) is None:
            raise SessionError(f"--launch {text}: the program {self._words[0]} is not in the PATH")

    def command(self, user: str) -> list[str]:
        """Returns the command for a user. The words of a program follow it.

        Raises SessionError if the name could mean something else to the program, or if it belongs to root or to a
        service: a user of the metastore with that name must not become it.
        """
        if not _NAME.fullmatch(user):
            raise SessionError(
                f"{user!r} cannot be a user of the operating system for --launch: names begin with a letter or _ and "
                "consist of letters, digits, _, . and -"
            )
        try:
            id_ = pwd.getpwnam(user).pw_uid
        except KeyError:  # the launch command may know users that this machine does not, such as those of a container
            id_ = _FIRST_ID
        if id_ < _FIRST_ID or id_ == _NOBODY:
            raise SessionError(f"{user} is a system account (user id {id_}), for which no driver is started")
        return [word.replace(_USER, user) for word in self._words]

"""Upgrades, restarts and fail-overs under clients that write: `make outages ARGS="rolling --from COMMIT"`."""

from __future__ import annotations

import argparse
import sys

from tests.bench.operating.interruptions import KINDS, interrupt
from tests.bench.operating.lost_commits import lose_commits
from tests.bench.operating.rolling import rounds


def main() -> int:
    """Returns the exit status: 1 if anything went wrong."""
    given = _parser().parse_args()
    if given.command == "interruptions":
        return interrupt(given.of, given.commit)
    if given.command == "lost-commits":
        return lose_commits(given.rounds, given.lag)
    return int(rounds(given.commit, given.rounds) > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.operating", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    rolling = commands.add_parser("rolling", help="rolling upgrades from an older commit, with clients that write")
    rolling.add_argument("--from", dest="commit", required=True, help="the commit whose servers run at first")
    rolling.add_argument("--rounds", type=int, default=3)
    interrupting = commands.add_parser("interruptions", help="restarts and fail-overs under writers that repeat once")
    interrupting.add_argument("--of", choices=(*KINDS, "rolling"), required=True)
    interrupting.add_argument("--from", dest="commit", default="HEAD", help="the older commit of `rolling`")
    losing = commands.add_parser(
        "lost-commits", help="fail-overs to a standby that lags, under clients that change files"
    )
    losing.add_argument("--rounds", type=int, default=5)
    losing.add_argument("--lag", type=float, default=8.0, help="seconds that the standby is behind, at most")
    return parser


if __name__ == "__main__":
    sys.exit(main())

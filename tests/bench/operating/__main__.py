"""`python -m tests.bench.operating rolling --from COMMIT --rounds 20`."""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    """Returns the exit status: 1 where anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.operating", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    rolling = commands.add_parser("rolling", help="rolling upgrades from an older commit, with clients that write")
    rolling.add_argument("--from", dest="commit", required=True, help="the commit whose servers run at first")
    rolling.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    from tests.bench.operating.rolling import rounds

    return int(rounds(given.commit, given.rounds) > 0)


if __name__ == "__main__":
    sys.exit(main())

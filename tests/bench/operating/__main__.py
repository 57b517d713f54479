"""`python -m tests.bench.operating rolling --from COMMIT --rounds 20`, `… soak --minutes 30`, `… kills --of all`."""

from __future__ import annotations

import argparse
import sys

from tests.bench.operating.interruptions import KINDS, interrupt
from tests.bench.operating.kills import KILLS, kills


def main() -> int:
    """Returns the exit status: 1 if anything went wrong."""
    given = _parser().parse_args()
    if given.command == "interruptions":
        return interrupt(given.of, given.commit)
    if given.command == "kills":
        return kills(given.times, given.of, given.bulk)
    if given.command == "confined":
        from tests.bench.operating.confined import confined

        return confined(given.minutes, given.memory, embedded=given.embedded)
    if given.command == "soak":
        from tests.bench.operating.soak import soak

        return soak(given.minutes)
    if given.command == "lost-commits":
        from tests.bench.operating.lost_commits import lose_commits

        return lose_commits(given.rounds, given.lag)
    if given.command == "alerts":
        from tests.bench.operating.alerts import rehearse

        return rehearse(given.only)
    if given.command == "large-replies":
        from tests.bench.operating.large_replies import large_replies

        return large_replies(given.readers, given.rounds, given.names, given.burners)
    from tests.bench.operating.rolling import rounds

    return int(rounds(given.commit, given.rounds) > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.operating", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    rolling = commands.add_parser("rolling", help="rolling upgrades from an older commit, with clients that write")
    rolling.add_argument("--from", dest="commit", required=True, help="the commit whose servers run at first")
    rolling.add_argument("--rounds", type=int, default=3)
    soaking = commands.add_parser("soak", help="mixed load, alone and beside hostile clients")
    soaking.add_argument("--minutes", type=float, default=30.0)
    killing = commands.add_parser("kills", help="an embedded PostgreSQL is killed, beside clients that read and write")
    killing.add_argument("--times", type=int, default=20)
    killing.add_argument("--of", choices=KILLS, default="all", help="what is killed")
    killing.add_argument("--bulk", type=float, default=0.0, help="seconds of adding partitions before each kill")
    confining = commands.add_parser("confined", help="a server in a memory cgroup, under mixed load")
    confining.add_argument("--minutes", type=float, default=15.0)
    confining.add_argument("--memory", type=int, default=512, help="MiB")
    confining.add_argument("--embedded", action="store_true", help="with the embedded PostgreSQL in the cgroup")
    interrupting = commands.add_parser("interruptions", help="restarts and fail-overs under writers that repeat once")
    interrupting.add_argument("--of", choices=(*KINDS, "rolling"), required=True)
    interrupting.add_argument("--from", dest="commit", default="HEAD", help="the older commit of `rolling`")
    losing = commands.add_parser(
        "lost-commits", help="fail-overs to a standby that lags, under clients that change files"
    )
    losing.add_argument("--rounds", type=int, default=5)
    losing.add_argument("--lag", type=float, default=8.0, help="seconds that the standby is behind, at most")
    alerting = commands.add_parser("alerts", help="conditions of alerts on a real server, and the runbook's commands")
    alerting.add_argument("--only", default="all", help="the name of an alert")
    reading = commands.add_parser("large-replies", help="clients that read 40 MB each from one worker, beside writers")
    reading.add_argument("--readers", type=int, default=8)
    reading.add_argument("--rounds", type=int, default=5, help="replies that each client reads")
    reading.add_argument("--names", type=int, default=0, help="partition names that another client reads at first")
    reading.add_argument("--burners", type=int, default=0, help="processes that keep the processors busy")
    return parser


if __name__ == "__main__":
    sys.exit(main())

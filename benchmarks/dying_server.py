"""A server that kills itself at the n-th time a save comes to a point: for the crash harness alone."""

import os
import signal
import sys
from collections.abc import Callable

from api.clock import Clock
from api.server import serve
from api.services import Services, build
from api.settings import Settings, load


def dying_at(point: str, count: int) -> Callable[[str], None]:
    left = count

    def checkpoint(reached: str) -> None:
        nonlocal left
        left -= reached == point
        if reached == point and left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return checkpoint


def main(point: str, count: str, state_dir: str, base_url: str) -> int:
    flags = {"state_dir": state_dir, "openai_base_url": base_url, "openai_model": "m", "port": 0}

    def make(settings: Settings, clock: Clock) -> Services:
        return build(settings, clock, checkpoint=dying_at(point, int(count)))

    return serve(load(flags | {"no_browser": True}, {}), make)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Threads of the process: begun at any moment, also while the process ends."""

from threading import Thread

from api.concurrency import Workers


def test_an_end_while_threads_are_begun_meets_none_that_has_not_started() -> None:
    workers = Workers()

    def begin_many() -> None:
        for _ in range(3000):
            workers.spawn("short", lambda: None)

    beginner = Thread(target=begin_many)
    beginner.start()
    while beginner.is_alive():
        workers.stop(1.0)
    beginner.join()
    assert workers.stop(20.0) == []

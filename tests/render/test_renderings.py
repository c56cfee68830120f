"""What was rendered is kept, as far as there is room."""

import subprocess
import sys

from api.render.renderings import Renderings


def test_a_text_is_rendered_once_while_there_is_room() -> None:
    renderings = Renderings(limit=100)
    first = renderings.whole("a *b*")
    assert renderings.whole("a *b*") is first
    renderings.keep("c" * 90, ["x"])
    assert renderings.whole("a *b*") is not first
    assert renderings.whole("a *b*") == first


def test_a_text_larger_than_the_room_is_not_kept() -> None:
    renderings = Renderings(limit=10)
    assert renderings.whole("a" * 50) is not renderings.whole("a" * 50)


def test_heavy_libraries_are_loaded_with_the_first_text_only() -> None:
    heavy = "{'markdown_it', 'pygments', 'nh3', 'latex2mathml'}"
    code = f"import sys, api.server; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_that_need_the_libraries_at_once_do_not_wait_for_each_other_in_vain() -> None:
    code = """
import threading
from api.render.renderings import Renderings
renderings, done = Renderings(), []
work = [renderings.warm, renderings.growing, lambda: renderings.whole("*a*")] * 4
threads = [threading.Thread(target=lambda w=w: done.append(w())) for w in work]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(done))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "12", done.stderr

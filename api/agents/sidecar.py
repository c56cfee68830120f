"""The child process that holds the local model: run by path, standard library and engine only.

Call: `python -I sidecar.py ENGINE_FOLDER MODEL_FILE`, with the key in TALARIA_SIDECAR_KEY. It prints
`listening http://…` when it answers, or `no-engine …` and `no-model …` when it never will. It ends when
its standard input closes, that is with its parent, however that ended.
"""

import os
import sys
from typing import Any, NoReturn

EXIT_NO_ENGINE = 3
EXIT_NO_MODEL = 4
ALIAS = "smollm2-135m"
CONTEXT_TOKENS = 4096
SLOTS = 2
REPLY_TOKENS = 256
TEMPERATURE = 0.2
TOP_P = 0.9
PROMPT_CACHE_MB = 256
SLEEP_AFTER_S = 900


def main() -> None:
    engine, model = sys.argv[1:3]
    sys.path.insert(0, engine)
    try:
        import xllamacpp
    except ImportError as exc:
        _give_up(EXIT_NO_ENGINE, f"no-engine {exc}")
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, model))
    except RuntimeError as exc:
        _give_up(EXIT_NO_MODEL, f"no-model {exc}")
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.buffer.read()
    # A plain return would wait for the replies that are being written.
    os._exit(0)


def _parameters(xllamacpp: Any, model: str) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.model_alias = {ALIAS}
    parameters.n_ctx = CONTEXT_TOKENS * SLOTS
    parameters.n_parallel = SLOTS
    parameters.n_predict = REPLY_TOKENS
    parameters.sampling.temp = TEMPERATURE
    parameters.sampling.top_p = TOP_P
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _threads()
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [os.environ["TALARIA_SIDECAR_KEY"]]
    # Without these two it has no key and answers every web page.
    parameters.cors_origins = "http://127.0.0.1"
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = 0
    # The prompt cache takes 8 GB when nothing is said.
    parameters.cache_ram_mib = PROMPT_CACHE_MB
    parameters.sleep_idle_seconds = SLEEP_AFTER_S
    return parameters


def _threads() -> int:
    """One core stays free: sharing the last one makes the model many times slower."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)) - 1)
    return max(1, (os.cpu_count() or 2) - 1)


def _give_up(code: int, line: str) -> NoReturn:
    print(" ".join(line.split()), flush=True)
    os._exit(code)


if __name__ == "__main__":
    main()

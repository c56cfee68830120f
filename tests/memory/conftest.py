"""Which tests of memory are collected here."""

import os

# One test needs an OpenViking of its own, which is large: the variable names its `openviking-server`.
collect_ignore = [] if os.environ.get("TALARIA_OPENVIKING_SERVER") else ["test_real_openviking.py"]

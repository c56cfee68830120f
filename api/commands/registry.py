"""The commands that ship."""

from api.commands import (
    branch,
    clear,
    compress,
    help,
    memory,
    model,
    new,
    redo,
    retry,
    status,
    stop,
    title,
    undo,
    usage,
)
from api.commands.base import Registry


def build_registry() -> Registry:
    modules = (
        branch,
        clear,
        compress,
        help,
        memory,
        model,
        new,
        redo,
        retry,
        status,
        stop,
        title,
        undo,
        usage,
    )
    return Registry([module.COMMAND for module in modules])

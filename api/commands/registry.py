"""The commands that ship."""

from api.commands import help, new, redo, retry, status, stop, title, undo
from api.commands.base import Registry


def build_registry() -> Registry:
    modules = (help, new, redo, retry, status, stop, title, undo)
    return Registry([module.COMMAND for module in modules])

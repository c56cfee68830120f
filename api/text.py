"""Valid Unicode, at the doors of the process."""

from typing import Any


def valid_unicode(text: str) -> str:
    """`text` with two surrogate halves side by side joined and any lone one replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Any) -> Any:
    """`value` with every string in it, keys too, made valid Unicode."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {clean_json(key): clean_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(entry) for entry in value]
    return value

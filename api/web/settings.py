"""Settings over HTTP: what this start was told and by whom, and what the next one shall be told."""

from pathlib import Path
from typing import Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict

from api.setting_rows import SETTINGS, Setting
from api.settings import Settings, is_editable, read_stored, store
from api.web.room import new_room

# Of these only that they are set is told.
SECRETS = frozenset({"token", "password", "openai_api_key", "openviking_api_key"})


class SettingRow(BaseModel):
    """`value` is that of this start, `stored` what `settings.json` says for the next one; null: nothing."""

    name: str
    flag: str | None
    environment: str | None
    help: str
    value: Any
    stored: Any
    source: str
    editable: bool


class SettingsAnswer(BaseModel):
    settings: list[SettingRow]
    restart_needed: bool


class SettingsBody(BaseModel):
    """Values by the names of the settings; null sets the default."""

    model_config = ConfigDict(extra="allow")


def blueprint(settings: Settings) -> APIBlueprint:
    bp = new_room("settings")

    @bp.get("/api/settings", responses={200: SettingsAnswer})
    def read() -> Any:
        return _answer(settings)

    @bp.post("/api/settings", responses={200: SettingsAnswer})
    def change(body: SettingsBody) -> Any:
        store(settings, body.model_dump())
        return _answer(settings)

    return bp


def _answer(settings: Settings) -> dict[str, Any]:
    stored = read_stored(settings.state_dir)
    rows = [_row(settings, row, stored.get(row.name)) for row in SETTINGS]
    return {"settings": rows, "restart_needed": dict(stored) != dict(settings.stored)}


def _row(settings: Settings, row: Setting, stored: Any) -> dict[str, Any]:
    value = _plain(getattr(settings, row.name))
    editable = is_editable(settings, row)
    return {
        "name": row.name,
        "flag": row.flag,
        "environment": row.environment,
        "help": row.help,
        "value": value is not None if row.name in SECRETS else value,
        "stored": stored if stored is None else _plain(row.parse(stored)),
        "source": settings.sources[row.name],
        "editable": editable,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value

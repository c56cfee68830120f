"""The static shell: public, and without any data of the user."""

from pathlib import Path

from flask import Blueprint, Response, send_from_directory

_HERE = Path(__file__).resolve().parent.parent


def folder_of(name: str) -> Path:
    """`static` or `templates`: beside the package in a checkout, inside it in a wheel."""
    beside = _HERE.parent / name
    return beside if (beside / "..").resolve() == _HERE.parent and beside.is_dir() else _HERE / name


def blueprint() -> Blueprint:
    bp = Blueprint("page", __name__)

    @bp.get("/")
    def shell() -> Response:
        response = send_from_directory(folder_of("templates"), "index.html")
        response.headers["Cache-Control"] = "no-cache"
        return response

    @bp.get("/static/<path:name>")
    def asset(name: str) -> Response:
        response = send_from_directory(folder_of("static"), name)
        response.headers["Cache-Control"] = "no-cache"
        return response

    return bp

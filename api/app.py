"""The Flask application: the gate, the blueprints and the one error handler."""

import logging
import secrets
from typing import Any

from flask import Flask, Response, jsonify
from flask_openapi3.models.info import Info
from flask_openapi3.openapi import OpenAPI
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed

from api import __version__, errors
from api.services import Services
from api.web import (
    auth,
    blobs,
    commands,
    drafts,
    endpoints,
    history,
    labels,
    memory,
    page,
    queue,
    search,
    sessions,
    system,
    turns,
)
from api.web import settings as web_settings
from api.web.body import OrjsonProvider, StrictRequest
from api.web.gate import Gate
from api.web.schemas import ErrorAnswer
from api.web.shown import Shown
from api.web.streams import Streams

log = logging.getLogger(__name__)


class Talaria(OpenAPI):
    """An application whose JSON goes through our reader and writer, and whose forms say what is wrong."""

    request_class = StrictRequest
    json_provider_class = OrjsonProvider


def create_app(services: Services, gate: Gate) -> Flask:
    """The application over the objects of one process."""
    app = Talaria(
        __name__,
        info=Info(title="Talaria", version=__version__),
        security_schemes={"token": {"type": "http", "scheme": "bearer"}},
        validation_error_status=400,
        validation_error_model=ErrorAnswer,
        validation_error_callback=_invalid,
        doc_ui=False,
        static_folder=None,
    )
    # A path with two slashes is another one: sending it on would name this server as a proxy sees it.
    app.url_map.merge_slashes = False
    app.before_request(gate.check)
    app.after_request(gate.add_headers)
    app.register_error_handler(Exception, _answer)
    v = services
    streams = Streams(v.hub, v.rendered, gate.admission)
    app.register_blueprint(page.blueprint())
    app.register_api(auth.blueprint(v.auth))
    shown = Shown(v.runner, v.drafts)
    app.register_api(
        sessions.blueprint(
            v.store, v.catalog, v.maker, v.ops, v.runner, v.clock, shown, v.rendered.renderings
        )
    )
    app.register_api(labels.blueprint(v.catalog, v.ops, shown))
    app.register_api(drafts.blueprint(v.ops, shown))
    app.register_api(search.blueprint(v.search))
    app.register_api(history.blueprint(v.ops, v.report))
    app.register_api(turns.blueprint(v.store, v.runner, v.hub, streams, v.composer))
    app.register_api(blobs.blueprint(v.store, v.blobs))
    app.register_api(queue.blueprint(v.ops, v.runner))
    app.register_api(commands.blueprint(v.commands))
    app.register_api(web_settings.blueprint(v.settings))
    app.register_api(endpoints.blueprint(v.endpoints, v.agents, v.local_servers, v.settings.agent))
    app.register_api(memory.blueprint(v.memory))
    app.register_api(system.blueprint(gate, v.catalog, v.runner, v.hub, streams, v.memory, v.settings))
    return app


def _invalid(error: ValidationError) -> Response:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    raise errors.InvalidRequest(f"{place or 'The request'}: {first['msg']}.", details={"field": place})


def _answer(error: Exception) -> Any:
    """Every refusal as one JSON answer; what nobody foresaw gets a log id and no trace."""
    if isinstance(error, errors.TalariaError):
        return _refusal(error)
    # An error after the view, as in writing its answer, comes wrapped as a 500.
    if isinstance(error, HTTPException) and not isinstance(error, InternalServerError):
        return _refusal(_named(error), error)
    log_id = secrets.token_hex(4)
    log.error("request failed [%s]", log_id, exc_info=error)
    return _refusal(errors.TalariaError(details={"log_id": log_id}))


def _named(error: HTTPException) -> errors.TalariaError:
    kinds = {
        404: errors.NotFound("There is nothing at this address."),
        405: errors.MethodNotAllowed(),
        413: errors.TooLarge(),
        415: errors.UnsupportedMediaType(),
    }
    return kinds.get(error.code or 0) or errors.InvalidRequest()


def _refusal(error: errors.TalariaError, cause: HTTPException | None = None) -> Response:
    answer: dict[str, Any] = {"error": error.message, "code": error.code}
    if error.details:
        answer["details"] = error.details
    response = jsonify(answer)
    response.status_code = error.status
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(cause, MethodNotAllowed) and cause.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(cause.valid_methods))
    return response

"""Logging in and out over HTTP: codes, the password, tickets."""

from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from api.auth.access import TICKET_S, Auth
from api.errors import InvalidRequest
from api.web import schemas as s
from api.web.gate import bearer
from api.web.room import new_open_room


class LoginBody(s.Body):
    """A code that the server gave out, or the password."""

    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    password: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class LoginAnswer(BaseModel):
    token: str


class LogoutAnswer(BaseModel):
    """`ended` is False for the access token, which stays good."""

    ok: bool
    ended: bool


class AuthStatusAnswer(BaseModel):
    password: bool


class TicketBody(s.Body):
    path: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^/")]


class TicketAnswer(BaseModel):
    ticket: str
    expires_in: float


def blueprint(auth: Auth) -> APIBlueprint:
    bp = new_open_room("auth")

    @bp.post("/api/auth/login", responses={200: LoginAnswer})
    def login(body: LoginBody) -> Any:
        if body.code is not None:
            return {"token": auth.redeem(body.code)}
        if body.password is not None:
            return {"token": auth.log_in(body.password)}
        raise InvalidRequest("Give a code or a password.")

    @bp.post("/api/auth/logout", responses={200: LogoutAnswer}, security=s.TOKEN)
    def logout() -> Any:
        return {"ok": True, "ended": auth.log_out(bearer())}

    @bp.get("/api/auth/status", responses={200: AuthStatusAnswer})
    def status() -> Any:
        return {"password": auth.has_password}

    @bp.post("/api/auth/ticket", responses={200: TicketAnswer}, security=s.TOKEN)
    def ticket(body: TicketBody) -> Any:
        return {"ticket": auth.new_ticket(body.path, bearer()), "expires_in": TICKET_S}

    return bp

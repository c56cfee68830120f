"""Logging in and out over HTTP: codes, the password, tickets."""

from typing import Any

from flask_openapi3.blueprint import APIBlueprint

from api.auth.access import TICKET_S, Auth
from api.errors import InvalidRequest
from api.web import schemas as s
from api.web.gate import bearer
from api.web.room import new_open_room


def blueprint(auth: Auth) -> APIBlueprint:
    bp = new_open_room("auth")

    @bp.post("/api/auth/login", responses={200: s.LoginAnswer})
    def login(body: s.LoginBody) -> Any:
        if body.code is not None:
            return {"token": auth.redeem(body.code)}
        if body.password is not None:
            return {"token": auth.log_in(body.password)}
        raise InvalidRequest("Give a code or a password.")

    @bp.post("/api/auth/logout", responses={200: s.LogoutAnswer}, security=s.TOKEN)
    def logout() -> Any:
        return {"ok": True, "ended": auth.log_out(bearer())}

    @bp.get("/api/auth/status", responses={200: s.AuthStatusAnswer})
    def status() -> Any:
        return {"password": auth.has_password}

    @bp.post("/api/auth/ticket", responses={200: s.TicketAnswer}, security=s.TOKEN)
    def ticket(body: s.TicketBody) -> Any:
        return {"ticket": auth.new_ticket(body.path, bearer()), "expires_in": TICKET_S}

    return bp

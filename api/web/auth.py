"""Logging in over HTTP: codes and tickets."""

from typing import Any

from flask_openapi3.blueprint import APIBlueprint

from api.auth import TICKET_S, Auth
from api.web import schemas as s
from api.web.room import new_open_room


def blueprint(auth: Auth) -> APIBlueprint:
    bp = new_open_room("auth")

    @bp.post("/api/auth/login", responses={200: s.LoginAnswer})
    def login(body: s.LoginBody) -> Any:
        return {"token": auth.redeem(body.code)}

    @bp.get("/api/auth/status", responses={200: s.AuthStatusAnswer})
    def status() -> Any:
        return {"password": False}

    @bp.post("/api/auth/ticket", responses={200: s.TicketAnswer}, security=s.TOKEN)
    def ticket(body: s.TicketBody) -> Any:
        return {"ticket": auth.new_ticket(body.path), "expires_in": TICKET_S}

    return bp

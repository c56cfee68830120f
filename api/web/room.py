"""A part of the API under its name: what all its operations share in the document."""

from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from api.web.schemas import ERRORS, TOKEN


def new_room(name: str) -> APIBlueprint:
    """A blueprint whose every operation needs the token."""
    return APIBlueprint(name, __name__, abp_tags=[Tag(name=name)], abp_responses=ERRORS, abp_security=TOKEN)


def new_open_room(name: str) -> APIBlueprint:
    """A blueprint whose operations say themselves whether they need the token."""
    return APIBlueprint(name, __name__, abp_tags=[Tag(name=name)], abp_responses=ERRORS)

"""Search over HTTP."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from api.sessions.search import Scope, Search
from api.web.room import new_room


class SearchQuery(BaseModel):
    """`archived` takes in archived chats, `all` lines that were undone."""

    q: Annotated[str, Field(min_length=1, max_length=1000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    before: Annotated[str, Field(max_length=100)] | None = None
    archived: bool = False
    all: bool = False


class SearchResult(BaseModel):
    session_id: str
    title: str
    message_id: int | None
    role: str | None
    snippet: str
    match_type: Literal["title", "message"]
    timestamp: float
    undone: bool


class SearchAnswer(BaseModel):
    results: list[SearchResult]
    count: int
    next: str | None


def blueprint(search: Search) -> APIBlueprint:
    bp = new_room("search")

    @bp.get("/api/sessions/search", responses={200: SearchAnswer})
    def find(query: SearchQuery) -> Any:
        page = search.find(query.q, query.limit, query.before, Scope(query.archived, query.all))
        results = [asdict(result) for result in page.results]
        return {"results": results, "count": len(results), "next": page.next}

    return bp

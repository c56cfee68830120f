"""The description of the API is whole."""

from tests.web.live_server import LiveServer

UNDESCRIBED = {"/api/openapi.json"}


def test_every_address_is_described_with_its_refusals(live: LiveServer) -> None:
    document = live.client.get("/api/openapi.json").json
    assert document["openapi"].startswith("3.")
    for rule in live.app.url_map.iter_rules():
        if not rule.rule.startswith("/api/") or rule.rule in UNDESCRIBED:
            continue
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            operation = document["paths"][rule.rule][method.lower()]
            assert {"400", "401", "403", "404", "409", "503"} <= set(operation["responses"]), rule.rule
            assert any(status.startswith("2") for status in operation["responses"]), rule.rule

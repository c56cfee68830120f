"""The backends by name."""

from api.agents.pool import AgentPool
from tests.scripted_agent import ScriptedAgent


def test_every_agent_is_prepared_and_told_whether_it_is_the_default() -> None:
    first, second = ScriptedAgent(), ScriptedAgent()
    AgentPool({"first": first, "second": second}, "second").prepare()
    assert (first.prepared_as_default, second.prepared_as_default) == (False, True)

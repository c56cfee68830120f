/** What is remembered, as far as the page shows it: in its dialog, and under the replies of the open session. */

/** The facts under replies; `editing` is the one that is being corrected, and under which turn. */
export const NO_TURN_FACTS = { session_id: null, turns: {}, editing: null };

export const REMEMBERED = {
  memory: (s, e) => ({ ...s, memory: e.memory }),
  fact: factChanged,
  "facts/turns": (s, e) => ({ ...s, turnFacts: turnFacts(s.turnFacts, e) }),
  "facts/editing": (s, e) => ({ ...s, turnFacts: { ...s.turnFacts, editing: e.editing } }),
};

/** The facts of each turn of a session; a turn that has the same as before stays the same value. */
function turnFacts(before, { session_id, facts, turns }) {
  const byId = new Map(facts.map((fact) => [fact.id, fact]));
  const known = before.session_id === session_id ? before : NO_TURN_FACTS;
  const told = Object.entries(turns).map(([id, { recalled, learned }]) => {
    const named = [...new Set([...recalled, ...learned])];
    const now = { recalled: recalled.length, learned: learned.length, facts: named.map((name) => byId.get(name)).filter(Boolean) };
    return [id, JSON.stringify(known.turns[id]) === JSON.stringify(now) ? known.turns[id] : now];
  });
  return { ...known, session_id, turns: Object.fromEntries(told) };
}

/** A fact was changed: it is so wherever it is shown. */
function factChanged(state, { fact }) {
  const replaced = (facts) => facts.map((known) => (known.id === fact.id ? fact : known));
  const changed = ([id, told]) => [id, told.facts.some((known) => known.id === fact.id) ? { ...told, facts: replaced(told.facts) } : told];
  const { memory, turnFacts: shown } = state;
  return {
    ...state,
    memory: memory && { ...memory, editing: null, said: "", facts: replaced(memory.facts ?? []) },
    turnFacts: { ...shown, editing: null, turns: Object.fromEntries(Object.entries(shown.turns).map(changed)) },
  };
}

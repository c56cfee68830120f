/** What a person does with what is remembered: look, search, add, correct, forget, bring back, accept. */

const PAUSE_MS = 150;

export function createFacts(store, server) {
  let timer = 0;
  let asked = 0;
  const get = () => store.get().memory;
  const change = (changes) => get() && store.dispatch({ type: "memory", memory: { ...get(), ...changes } });

  async function open() {
    const fresh = { query: "", state: "", facts: null, next: null, editing: null, problem: "", said: "", status: null };
    store.dispatch({ type: "memory", memory: fresh });
    await Promise.all([read(), readStatus()]);
  }

  function close() {
    store.dispatch({ type: "memory", memory: null });
  }

  /** Show the facts with these words, once typing pauses. */
  function search(query) {
    clearTimeout(timer);
    change({ query });
    timer = setTimeout(read, PAUSE_MS);
  }

  /** Show the facts of one state; with "" those that are kept. */
  function filter(state) {
    change({ state });
    read();
  }

  async function read(before) {
    if (!get()) return;
    const mine = (asked += 1);
    const { query, state } = get();
    const answer = await server.facts({ q: query.trim(), state: state || undefined, before }).catch((failure) => ({ problem: failure.message }));
    // An answer to what is not asked any more is nobody's.
    if (mine !== asked || !get()) return;
    if (answer.problem) change({ problem: answer.problem });
    else change({ problem: "", facts: before ? [...get().facts, ...answer.facts] : answer.facts, next: answer.next });
  }

  async function readStatus() {
    if (!get()) return;
    const status = await server.memoryStatus().catch(() => null);
    if (status) change({ status });
  }

  /** Show under each reply what it was given and has taught, of the session that is open. */
  function keepTurns() {
    let shown = "";
    store.listen(({ session }) => {
      const last = session?.messages.findLast(({ role }) => role === "assistant");
      const now = last ? `${session.session_id} ${last.id}` : "";
      if (now === shown) return;
      shown = now;
      if (last) readTurns();
    });
  }

  async function readTurns() {
    const session_id = store.get().open;
    const found = session_id && (await server.factsOf(session_id).catch(() => null));
    if (found && store.get().open === session_id) store.dispatch({ type: "facts/turns", session_id, ...found });
  }

  /** Memory has learned or withdrawn something: show it, unless somebody is in the middle of the list. */
  function changed() {
    readTurns();
    const memory = get();
    if (!memory) return;
    readStatus();
    if (!memory.editing && (memory.facts ?? []).length <= 50) read();
  }

  async function add(text) {
    return attempt(async () => {
      const { fact } = await server.addFact(text);
      change({ facts: [fact, ...get().facts.filter(({ id }) => id !== fact.id)], said: "It will be remembered." });
    });
  }

  /** `name` is "update", "delete", "restore", "accept" or "refuse". The fact stays in its place as it is now. */
  async function act(name, body) {
    await attempt(async () => store.dispatch({ type: "fact", fact: (await server.changeFact(name, body)).fact }));
  }

  /** Whether `work` was done; why not is said in the dialog where it is open. */
  async function attempt(work) {
    change({ problem: "" });
    try {
      await work();
      readStatus();
      return true;
    } catch (failure) {
      if (get()) change({ problem: failure.message, said: "" });
      else store.dispatch({ type: "toast/shown", toast: { text: failure.message } });
      return false;
    }
  }

  const more = () => read(get().next);
  const edit = (id) => change({ editing: id, problem: "" });
  const editIn = (turnId, id) => store.dispatch({ type: "facts/editing", editing: id && { turn_id: turnId, id } });
  return { open, close, search, filter, more, changed, keepTurns, add, act, edit, editIn };
}

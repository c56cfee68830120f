/** What a person does with the facts in memory: look, search, add, correct, forget, bring back, accept. */

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
    const status = await server.memoryStatus().catch(() => null);
    if (status) change({ status });
  }

  /** Memory has learned or withdrawn something: show it, unless somebody is in the middle of the list. */
  function changed() {
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
    await attempt(async () => {
      const { fact } = await server.changeFact(name, body);
      change({ editing: null, said: "", facts: get().facts.map((known) => (known.id === fact.id ? fact : known)) });
    });
  }

  /** Whether `work` was done; why not is said in the dialog. */
  async function attempt(work) {
    change({ problem: "" });
    try {
      await work();
      readStatus();
      return true;
    } catch (failure) {
      change({ problem: failure.message, said: "" });
      return false;
    }
  }

  const more = () => read(get().next);
  const edit = (id) => change({ editing: id, problem: "" });
  return { open, close, search, filter, more, changed, add, act, edit };
}

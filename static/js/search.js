/** Search in all chats: what is looked for, what was found, and going to a hit. */

const PAUSE_MS = 150;

export function createSearch(store, server, sessions) {
  let timer = 0;
  let asked = 0;

  const found = (change) => store.dispatch({ type: "search", change });

  /** Look for `query` once typing pauses; an empty one ends the search. */
  function type(query) {
    clearTimeout(timer);
    asked += 1;
    found({ query, problem: "", ...(query.trim() ? { isReading: true } : { results: null, next: null, isReading: false }) });
    if (query.trim()) timer = setTimeout(() => read(query), PAUSE_MS);
  }

  /** The next page of results. */
  function more() {
    const { query, next, isReading } = store.get().search;
    if (next && !isReading) read(query, next);
  }

  async function read(query, before) {
    const mine = (asked += 1);
    found({ isReading: true });
    const answer = await server.search(query.trim(), before).catch((failure) => ({ problem: failure.message }));
    // An answer to what is not asked any more is nobody's.
    if (mine !== asked) return;
    const { results } = store.get().search;
    if (answer.problem) found({ isReading: false, problem: answer.problem });
    else found({ isReading: false, results: before ? [...results, ...answer.results] : answer.results, next: answer.next });
  }

  function open({ session_id, message_id }) {
    store.dispatch({ type: "drawer", isOpen: false });
    sessions.openAt(session_id, message_id);
  }

  return { type, more, open };
}

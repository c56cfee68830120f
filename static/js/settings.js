/** What a person sets: in this browser, on the server, and the chats that were deleted. */

import { readPreferences, watchPreferences, writePreferences } from "./preferences.js";

const PURGE = {
  title: "Empty the trash?",
  text: "The deleted chats are removed for good, with what only they hold. What memory has learned in them stays.",
  button: "Empty",
};

export function createSettings(store, server, sessions, { confirm }) {
  const get = () => store.get().settings;
  const change = (changes) => get() && store.dispatch({ type: "settings", settings: { ...get(), ...changes } });
  const prefer = (preferences) => store.dispatch({ type: "preferences", preferences });

  prefer(readPreferences());
  watchPreferences(prefer);

  async function open() {
    store.dispatch({ type: "settings", settings: { rows: null, isRestartNeeded: false, trash: null, problem: "", said: "" } });
    await Promise.all([attempt(readServer), attempt(readTrash)]);
  }

  function close() {
    store.dispatch({ type: "settings", settings: null });
  }

  /** Choose for this browser; every tab follows. */
  function choose(name, value) {
    const preferences = { ...store.get().preferences, [name]: value };
    writePreferences(preferences);
    prefer(preferences);
  }

  async function readServer() {
    shown(await server.settings());
  }

  function shown({ settings, restart_needed }) {
    change({ rows: settings, isRestartNeeded: restart_needed });
  }

  async function readTrash() {
    change({ trash: (await server.trash()).sessions });
  }

  /** Set a value for the next start; null takes the default again. */
  async function set(name, value) {
    return attempt(async () => {
      shown(await server.changeSettings({ [name]: value }));
      change({ said: get()?.isRestartNeeded ? "It counts from the next start of Talaria." : "It is as it was at the start." });
    });
  }

  async function restore({ session_id }) {
    await attempt(async () => {
      const { session } = await server.restore(session_id);
      store.dispatch({ type: "list/row", session_id, row: session });
      close();
      sessions.open(session_id);
    });
  }

  async function purge() {
    if (!(await confirm(PURGE))) return;
    await attempt(async () => {
      const { purged } = await server.purge();
      await readTrash();
      change({ said: purged === 1 ? "1 chat is removed." : `${purged} chats are removed.` });
    });
  }

  /** Whether `work` was done; why not is said in the dialog. */
  async function attempt(work) {
    change({ problem: "", said: "" });
    try {
      await work();
      return true;
    } catch (failure) {
      change({ problem: failure.message });
      return false;
    }
  }

  return { open, close, choose, set, restore, purge };
}

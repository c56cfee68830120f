/** Sends what is typed: no text is lost, none is sent twice, none goes to another session. */

import { hold, readDraft, release, writeDraft } from "./drafts.js";
import { newId } from "./format.js";
import { NEW, emptyDraft } from "./written.js";

export function createSending(store, server, sessions) {
  let housing = null;

  /** Send the draft, or with `text` that text; `asText` sends what looks like a command to the model. */
  async function send({ text = store.get().draft.text, asText = false } = {}) {
    const { draft, open, session, visit } = store.get();
    const attachments = draft.text === text ? draft.attachments : [];
    if (!text.trim() && attachments.length === 0) return;
    const isAgain = draft.client_id !== null && draft.text === text;
    const client_id = isAgain ? draft.client_id : newId();
    const after = isAgain ? draft.after : (session?.messages.at(-1)?.id ?? 0);
    const entry = { client_id, text, attachments, key: open ?? NEW, visit, after };
    hold(entry);
    store.dispatch({ type: "send/begun", entry });
    try {
      const sessionId = open ?? (await house(visit));
      move(entry, sessionId);
      const body = { session_id: sessionId, message: text, client_id, attachments: attachments.length > 0 ? attachments : undefined };
      answered(entry, await server.start(asText ? { ...body, as_text: true } : body));
    } catch (failure) {
      refused(entry, failure, asText);
    }
  }

  /** A session for the new chat; texts sent in the same new chat share it. */
  function house(visit) {
    if (housing?.visit !== visit) housing = { visit, made: make(visit) };
    return housing.made;
  }

  async function make(visit) {
    try {
      const { session } = await server.newSession(store.get().left);
      const isThere = store.get().visit === visit && store.get().open === null;
      store.dispatch({ type: "session/housed", session, visit });
      if (isThere) {
        writeDraft(emptyDraft(NEW));
        history.replaceState(null, "", `#session=${session.session_id}`);
      }
      return session.session_id;
    } catch (failure) {
      housing = null;
      throw failure;
    }
  }

  function move(entry, key) {
    if (entry.key === key) return;
    release(entry.key);
    entry.key = key;
    hold(entry);
  }

  function answered(entry, answer) {
    release(entry.key);
    if (answer.status === 200) {
      store.dispatch({ type: "send/dropped", client_id: entry.client_id });
      if (store.get().open === entry.key) commanded(entry, answer);
      return;
    }
    store.dispatch({ type: "send/accepted", client_id: entry.client_id, ...answer });
    if (store.get().open !== entry.key) return;
    if (!answer.queued) store.dispatch({ type: "turn/attached", ...answer });
    sessions.refresh();
  }

  function commanded(entry, { command, output, data }) {
    if (entry.attachments.length > 0) store.dispatch({ type: "draft/files", attachments: [...store.get().draft.attachments, ...entry.attachments] });
    if (command === "new" || command === "branch") {
      sessions.open(data.session_id);
      return;
    }
    if (command === "retry") store.dispatch({ type: "turn/attached", session_id: entry.key, stream_id: data.stream_id });
    else store.dispatch({ type: "panel/shown", panel: { kind: "command", title: `/${command}`, text: output } });
    if (data.removed_text && !store.get().draft.text) store.dispatch({ type: "draft/changed", text: data.removed_text });
    sessions.refresh();
  }

  /** The text goes back to where it was typed; the id stays with it where the outcome is unknown. */
  function refused(entry, failure, asText) {
    release(entry.key);
    store.dispatch({ type: "send/dropped", client_id: entry.client_id });
    const isUnknown = failure.status === undefined;
    const back = { key: entry.key, text: entry.text, attachments: entry.attachments, client_id: isUnknown ? entry.client_id : null, after: entry.after };
    const isShown = (store.get().open ?? NEW) === entry.key;
    const draft = isShown ? store.get().draft : readDraft(entry.key, []);
    const isEmpty = !draft.text && draft.attachments.length === 0;
    const joined = isEmpty ? back : {
      ...back,
      text: [entry.text, draft.text].filter(Boolean).join("\n\n"),
      attachments: [...entry.attachments, ...draft.attachments],
      client_id: null,
    };
    if (!isShown) {
      writeDraft(joined);
      return;
    }
    store.dispatch({ type: "draft/set", draft: joined });
    store.dispatch({ type: "panel/shown", panel: panelOf(entry, failure, asText, isUnknown) });
  }

  return { send, house };
}

function panelOf(entry, failure, asText, isUnknown) {
  if (failure.code === "unknown_command" && !asText) {
    const { suggestions = [] } = failure.details;
    return { kind: "unknown", title: "Unknown command", text: failure.message, suggestions, sent: entry.text };
  }
  const again = isUnknown ? " Your text is back in the message box; sending it again does not double it." : "";
  return { kind: "problem", title: "Not sent", text: failure.message + again };
}

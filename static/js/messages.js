/** What a person does with one message of the open session. */

import { copy } from "./copying.js";
import { addressOf } from "./sessions.js";

const ERASE = {
  title: "Erase this message?",
  text: "Its words are taken out of the chat, its copies, search and memory for good. Nothing brings them back.",
  button: "Erase",
};

/** `confirm` asks before what cannot be taken back; `focus` goes to the message box. */
export function createMessages(store, server, sessions, turns, { confirm, focus }) {
  const { dispatch } = store;
  const tell = (text) => dispatch({ type: "toast/shown", toast: { text } });

  async function copyLink(messageId) {
    const address = addressOf({ session_id: store.get().open, message_id: messageId });
    const isCopied = await copy(new URL(address, location.href).href);
    tell(isCopied ? "The link to the message is copied. It opens where this Talaria is open." : "The browser did not let the link be copied.");
  }

  /** Go on from a message in a chat of its own. */
  async function branch(messageId) {
    await sessions.attempt(async () => {
      const { session_id, title } = await server.branch(store.get().open, messageId);
      sessions.open(session_id);
      tell(`This is a chat of its own now: “${title}”.`);
      focus();
    });
  }

  async function erase(messageId) {
    const sessionId = store.get().open;
    if (!(await confirm(ERASE))) return;
    await sessions.attempt(async () => {
      const { copies, original } = await server.erase(sessionId, messageId);
      const places = copies.length === 0 ? "" : ` here and in ${copies.length === 1 ? "1 copy" : `${copies.length} copies`}`;
      tell(`The words are erased${places}.${original ? " The chat that they were copied from still has them." : ""}`);
      await sessions.refresh();
    });
  }

  /** Begin to change the words of a message, which asks anew. */
  function edit({ id, text }) {
    dispatch({ type: "editing", editing: { session_id: store.get().open, message_id: id, text } });
  }

  /** Begin with the message that was sent last; false where there is none. */
  function editLast() {
    const last = store.get().session?.messages.findLast((message) => message.role === "user" && !message.kind);
    if (!last) return false;
    edit(last);
    return true;
  }

  function type(text) {
    dispatch({ type: "editing", editing: { ...store.get().editing, text } });
  }

  function leave() {
    dispatch({ type: "editing", editing: null });
  }

  async function send() {
    const { message_id, text } = store.get().editing;
    if (!text.trim() || !(await turns.edit(message_id, text))) return;
    // Meanwhile another message may be in hand.
    if (store.get().editing?.message_id === message_id) leave();
    focus();
  }

  return { copyLink, branch, erase, edit, editLast, editing: { text: () => store.get().editing.text, type, leave, send } };
}

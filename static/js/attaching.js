/** Files on their way into the draft: chosen, pasted or dropped, each uploaded at once. */

import { readDraft, writeDraft } from "./drafts.js";
import { newId } from "./format.js";

const MOST = 20;
const LARGEST_MB = 25;

export function createAttaching(store, server, sending) {
  const { dispatch } = store;

  /** Attach files to what is being written, in their order; a new chat gets its session now. */
  async function add(files) {
    const { visit, draft, uploads } = store.get();
    const room = MOST - draft.attachments.length - uploads.filter((upload) => upload.visit === visit).length;
    const taken = [...files].slice(0, Math.max(0, room));
    if (taken.length < files.length) refuse(`A message takes at most ${MOST} files.`);
    const entries = taken.filter(isSmall).map((file) => ({ key: newId(), visit, file, filename: file.name, size: file.size }));
    for (const entry of entries) dispatch({ type: "upload/begun", entry });
    for (const entry of entries) await upload(entry);
  }

  function isSmall(file) {
    const isTaken = file.size <= LARGEST_MB * 1024 * 1024;
    if (!isTaken) refuse(`${file.name} is larger than ${LARGEST_MB} MB.`);
    return isTaken;
  }

  async function upload({ key, visit, file }) {
    let isKept = false;
    try {
      const sessionId = store.get().visit === visit && store.get().open ? store.get().open : await sending.house(visit);
      const attachment = await server.upload(sessionId, file);
      keep(sessionId, attachment);
      isKept = true;
    } catch (failure) {
      refuse(`${file.name} was not attached. ${failure.message}`);
    } finally {
      dispatch({ type: "upload/ended", key, isKept });
      sendIfDue(visit);
    }
  }

  /** Send what is written; while files are on their way, once they have arrived. */
  function send() {
    if (isComing()) dispatch({ type: "upload/send", isDue: true });
    else sending.send();
  }

  function sendIfDue(visit) {
    const state = store.get();
    if (state.visit !== visit || !state.isSendDue || isComing()) return;
    dispatch({ type: "upload/send", isDue: false });
    sending.send();
  }

  function isComing() {
    const { uploads, visit } = store.get();
    return uploads.some((upload) => upload.visit === visit);
  }

  /** Attach a text that is too long for the box. */
  function addText(text) {
    add([new File([text], "Pasted text.txt", { type: "text/plain" })]);
  }

  /** Put a file to the draft of its chat, also when another one is open by now. */
  function keep(sessionId, attachment) {
    const { draft, outbox } = store.get();
    if (draft.key === sessionId) {
      dispatch({ type: "draft/files", attachments: [...draft.attachments, attachment] });
      return;
    }
    const theirs = readDraft(sessionId, outbox);
    writeDraft({ ...theirs, attachments: [...theirs.attachments, attachment] });
  }

  function remove(place) {
    dispatch({ type: "draft/files", attachments: store.get().draft.attachments.filter((_file, at) => at !== place) });
  }

  function refuse(text) {
    dispatch({ type: "panel/shown", panel: { kind: "problem", title: "Not attached", text } });
  }

  return { add, addText, send, remove, refuse };
}

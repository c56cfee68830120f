/** The texts below the transcript: those on their way, and those that wait for the reply above. */

import { reconcile } from "./dom.js";
import { textOf } from "./line.js";
import { userArticle } from "./message.js";
import { NEW } from "./written.js";

export function createWaiting(act, files) {
  const waiting = document.getElementById("waiting");

  return (state, turn) => {
    const isRunning = Boolean(turn && !turn.terminal);
    const queued = (state.session?.queue ?? []).map((item, place) => ({
      key: item.turn_id,
      turnId: item.turn_id,
      isHeld: place === 0 && !isRunning,
      text: textOf(item.content),
      attachments: item.attachments,
      note: isRunning ? "Waiting for the reply above" : "Waiting; not sent yet",
    }));
    const known = new Set((state.session?.queue ?? []).map((item) => item.client_id));
    const sent = state.outbox
      .filter((entry) => entry.key === (state.open ?? NEW) && !known.has(entry.client_id))
      .map((entry) => ({ key: entry.client_id, text: entry.text, attachments: entry.attachments, note: entry.turn_id ? "" : "Sending…" }));
    const isFirst = (entry) => !isRunning || entry.note === "";
    const items = [...sent.filter(isFirst), ...queued, ...sent.filter((entry) => !isFirst(entry))];
    reconcile(waiting, items, {
      key: (item) => item.key,
      create: (item) => userArticle(item.text, { files: files.list(item.attachments), note: item.note, buttons: waitingButtons(item, act) }),
      isSame: (a, b) => a.text === b.text && a.note === b.note && a.isHeld === b.isHeld,
    });
  };
}

function waitingButtons(item, act) {
  if (!item.turnId) return [];
  const takeBack = { text: "Take back", click: () => act.unqueue(item.turnId) };
  return item.isHeld ? [{ text: "Send now", click: () => act.resume() }, takeBack] : [takeBack];
}

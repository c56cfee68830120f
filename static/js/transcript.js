/** The open conversation: stored messages, the running reply, texts on their way and texts that wait. */

import { h, label, reconcile } from "./dom.js";
import { shownLine, textOf } from "./line.js";
import { asideArticle, emptyReply, endMark, replyArticle, showParts, userArticle } from "./message.js";
import { createScroll } from "./scroll.js";
import { NEW } from "./written.js";

const SHOWN = ["session", "target", "turn", "outbox", "open", "visit", "problem"];
const END_OF = { cancel: "stopped", apperror: "failed" };

export function createTranscript(act) {
  const scroller = document.getElementById("transcript");
  const list = document.getElementById("messages");
  const waiting = document.getElementById("waiting");
  const earlier = document.getElementById("earlier");
  const problem = document.getElementById("transcript-problem");
  const scroll = createScroll(scroller, scroller.firstElementChild, document.getElementById("jump"));
  const live = emptyReply();
  live.classList.add("is-live");
  let shown = {};

  earlier.addEventListener("click", act.earlier);

  return function render(state) {
    const now = Object.fromEntries(SHOWN.map((name) => [name, state[name]]));
    if (SHOWN.every((name) => now[name] === shown[name])) return;
    const before = shown;
    shown = now;
    const { messages, live: turn } = shownLine(state);
    const isExtended = isSame(before, now) && messages[0] && before.first && messages[0].id < before.first;
    shown.first = messages[0]?.id;
    if (isExtended) scroll.keepPlace(() => showMessages(state, messages, turn));
    else showMessages(state, messages, turn);
    showLive(turn);
    showWaiting(state, turn);
    earlier.hidden = !messages[0] || messages[0].parent === null || messages[0].parent === undefined;
    label(problem, state.problem?.message ?? "");
    problem.hidden = !state.problem;
    const isSent = state.outbox.length > (before.outbox?.length ?? 0);
    if (before.visit !== now.visit || isSent) scroll.toEnd();
    else scroll.settle();
    if (now.target && now.target !== before.target) pointAt(now.target.message_id);
  };

  /** Bring a message into sight and the keyboard to it; what stands in another message is found there. */
  function pointAt(messageId) {
    list.querySelector(".is-found")?.classList.remove("is-found");
    const found = [...list.children].findLast((child) => child.shownItem.message.id <= messageId);
    if (!found) return;
    found.classList.add("is-found");
    found.tabIndex = -1;
    scroll.toElement(found);
  }

  function showMessages(state, messages, turn) {
    const results = new Map(messages.filter((m) => m.role === "tool").map((m) => [m.tool_call_id, m]));
    const called = new Set(messages.flatMap((m) => (m.tool_calls ?? []).map((call) => call.id)));
    const isOrphan = (m) => m.role === "tool" && !called.has(m.tool_call_id);
    const lastId = messages.findLast((message) => message.kind !== "notice")?.id;
    const items = messages
      .filter((m) => m.role !== "tool" || isOrphan(m))
      .map((message) => ({ message, results, isLast: !turn && message.id === lastId, session: state.open }));
    reconcile(list, items, { key: (item) => `${item.session} ${item.message.id}`, create: createMessage, isSame: isSameMessage });
  }

  function createMessage({ message, results, isLast }) {
    if (message.kind) return asideArticle(message);
    if (message.role === "user") return userArticle(message.text, { variants: message.variants, act, blocks: message.blocks });
    if (message.role === "assistant") {
      return replyArticle(message, results, { act, retry: isLast ? () => act.retry(lastAsked(shown.session)) : null });
    }
    return asideArticle(message);
  }

  function showLive(turn) {
    if (!turn) {
      retire();
      return;
    }
    if (live.dataset.stream !== turn.stream_id) {
      live.dataset.stream = turn.stream_id;
      live.dataset.turn = turn.turn_id;
      live.replaceChildren(h("div", { class: "parts" }));
    }
    showParts(live.firstChild, turn.parts);
    live.querySelectorAll(".end, .note").forEach((element) => element.remove());
    if (turn.kind === "compress") live.append(h("p", { class: "note" }, "Summing up the older messages…"));
    live.append(...turn.notices.map((text) => h("p", { class: "note" }, text)));
    const status = END_OF[turn.terminal?.type];
    if (status) live.append(endMark(status, turn.terminal, null));
    live.classList.toggle("is-empty", turn.parts.length === 0 && !turn.terminal);
    if (live.previousSibling !== list) list.after(live);
    list.setAttribute("aria-busy", String(!turn.terminal));
  }

  /** The stored reply stands in the place of the running one; what was unfolded stays unfolded. */
  function retire() {
    if (!live.isConnected) return;
    const stored = list.querySelectorAll(`[data-turn="${CSS.escape(live.dataset.turn)}"] details`);
    live.querySelectorAll("details").forEach((details, place) => {
      if (stored[place]) stored[place].open = details.open;
    });
    live.remove();
    list.setAttribute("aria-busy", "false");
  }

  function showWaiting(state, turn) {
    const isRunning = Boolean(turn && !turn.terminal);
    const queued = (state.session?.queue ?? []).map((item, place) => ({
      key: item.turn_id,
      turnId: item.turn_id,
      isHeld: place === 0 && !isRunning,
      text: textOf(item.content),
      note: isRunning ? "Waiting for the reply above" : "Waiting; not sent yet",
    }));
    const known = new Set((state.session?.queue ?? []).map((item) => item.client_id));
    const sent = state.outbox
      .filter((entry) => entry.key === (state.open ?? NEW) && !known.has(entry.client_id))
      .map((entry) => ({ key: entry.client_id, text: entry.text, note: entry.turn_id ? "" : "Sending…" }));
    const isFirst = (entry) => !isRunning || entry.note === "";
    const items = [...sent.filter(isFirst), ...queued, ...sent.filter((entry) => !isFirst(entry))];
    reconcile(waiting, items, {
      key: (item) => item.key,
      create: (item) => userArticle(item.text, { note: item.note, buttons: waitingButtons(item, act) }),
      isSame: (a, b) => a.text === b.text && a.note === b.note && a.isHeld === b.isHeld,
    });
  }
}

function waitingButtons(item, act) {
  if (!item.turnId) return [];
  const takeBack = { text: "Take back", click: () => act.unqueue(item.turnId) };
  return item.isHeld ? [{ text: "Send now", click: () => act.resume() }, takeBack] : [takeBack];
}

function lastAsked(session) {
  return session.messages.findLast((message) => message.role === "user" && !message.kind)?.id;
}

function isSame(before, now) {
  return before.visit === now.visit && before.open === now.open;
}

/** A stored message never changes; what stands around it may. */
function isSameMessage(a, b) {
  if (a.message === b.message && a.isLast === b.isLast) return true;
  const same = (name) => JSON.stringify(a.message[name]) === JSON.stringify(b.message[name]);
  const hasResults = (b.message.tool_calls ?? []).every((call) => a.results.has(call.id) === b.results.has(call.id));
  return a.isLast === b.isLast && same("variants") && same("text") && same("error") && same("status") && hasResults;
}

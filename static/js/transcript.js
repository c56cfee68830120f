/** The open conversation: stored messages, the running reply, texts on their way and texts that wait. */

import { h, label, reconcile } from "./dom.js";
import { shownLine, withRuns } from "./line.js";
import { asideArticle, emptyReply, endMark, isCut, replyArticle, showParts, userArticle } from "./message.js";
import { messageEditor } from "./messageeditor.js";
import { messageFoot } from "./messagefoot.js";
import { createScroll } from "./scroll.js";
import { showTold } from "./toldline.js";
import { createWaiting } from "./waiting.js";

const SHOWN = ["session", "target", "turnFacts", "turn", "outbox", "open", "visit", "problem"];
const END_OF = { cancel: "stopped", apperror: "failed" };

export function createTranscript(act, files) {
  const scroller = document.getElementById("transcript");
  const list = document.getElementById("messages");
  const earlier = document.getElementById("earlier");
  const problem = document.getElementById("transcript-problem");
  const scroll = createScroll(scroller, scroller.firstElementChild, document.getElementById("jump"));
  const live = emptyReply();
  live.classList.add("is-live");
  const showWaiting = createWaiting(act, files);
  let shown = {};

  earlier.addEventListener("click", act.earlier);

  return function render(state) {
    const now = Object.fromEntries(SHOWN.map((name) => [name, state[name]]));
    now.edited = editedIn(state);
    if (Object.keys(now).every((name) => now[name] === shown[name])) return;
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
    if (now.edited !== before.edited && isSame(before, now)) handOver(before.edited);
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

  /** The keyboard goes into the message that is changed now, and from one that is not any more to its button. */
  function handOver(leftId) {
    const box = list.querySelector(".message-editor");
    const isLost = document.activeElement === document.body || list.contains(document.activeElement);
    if (box) {
      box.focus();
      box.setSelectionRange(box.value.length, box.value.length);
    } else if (isLost) {
      list.querySelector(`[data-key$=" ${leftId}"] [aria-label="Edit"]`)?.focus({ preventScroll: true });
    }
  }

  function showMessages(state, messages, turn) {
    const results = new Map(messages.filter((m) => m.role === "tool").map((m) => [m.tool_call_id, m]));
    const called = new Set(messages.flatMap((m) => (m.tool_calls ?? []).map((call) => call.id)));
    const isOrphan = (m) => m.role === "tool" && !called.has(m.tool_call_id);
    const lastId = messages.findLast((message) => message.kind !== "notice")?.id;
    const edited = editedIn(state);
    const items = withRuns(messages)
      .filter(({ message: m }) => m.role !== "tool" || isOrphan(m))
      .map((item) => ({
        ...item,
        results,
        session: state.open,
        isLast: !turn && item.message.id === lastId && isCut(item.message),
        isEdited: item.message.id === edited,
      }));
    reconcile(list, items, { key: (item) => `${item.session} ${item.message.id}`, create: createMessage, isSame: isSameMessage });
    showFacts(state.turnFacts, state.open);
  }

  function showFacts({ session_id, turns, editing }, open) {
    for (const article of list.children) {
      const { run, message } = article.shownItem;
      if (!run) continue;
      const told = session_id === open ? turns[message.turn] : undefined;
      const edited = editing?.turn_id === message.turn ? editing.id : null;
      const does = { change: act.changeFact, edit: (id) => act.editFact(message.turn, id), openSource: act.openHit };
      if (told || article.querySelector(":scope > .told")) showTold(article, told, edited, does);
    }
  }

  function createMessage(item) {
    const { message, results } = item;
    if (message.kind) return asideArticle(message);
    if (item.isEdited) return messageEditor(act.editing.text(), act.editing);
    if (message.role === "user") {
      const foot = messageFoot(message, { words: () => message.text, retry: null, act });
      return userArticle(message.text, { files: files.list(message.attachments), blocks: message.blocks, foot });
    }
    return message.role === "assistant" ? createReply(item, results) : asideArticle(message);
  }

  function createReply({ message, asked, run, isLast }, results) {
    const again = asked === null ? null : () => act.retry(asked);
    const retry = isLast ? again : null;
    const words = () => run.map(({ text }) => text).filter(Boolean).join("\n\n");
    const foot = run && messageFoot(message, { words, retry: retry ? null : again, act });
    return replyArticle(message, results, { retry, foot });
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
}

/** The message of the open session whose words are being changed. */
function editedIn({ editing, open }) {
  return editing?.session_id === open ? editing.message_id : null;
}

function isSame(before, now) {
  return before.visit === now.visit && before.open === now.open;
}

/** A stored message never changes; what stands around it may. */
function isSameMessage(a, b) {
  const isPlaced = ["isLast", "isEdited", "asked"].every((name) => a[name] === b[name]) && a.run?.length === b.run?.length;
  if (!isPlaced || a.message === b.message) return isPlaced;
  const same = (name) => JSON.stringify(a.message[name]) === JSON.stringify(b.message[name]);
  const hasResults = (b.message.tool_calls ?? []).every((call) => a.results.has(call.id) === b.results.has(call.id));
  return same("attachments") && same("variants") && same("text") && same("error") && same("status") && hasResults;
}

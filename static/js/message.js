/** One message as elements: its parts in order, and how it ended. */

import { showBlocks } from "./blocks.js";
import { growText, h, icon, label } from "./dom.js";
import { textOf } from "./line.js";
import { partsOf, wholeBlocks } from "./turn.js";

const ENDS = { stopped: "Stopped", failed: "Failed", interrupted: "Interrupted" };

/** An article for a user message or a waiting text; `note` says what is special about it, `foot` stands below. */
export function userArticle(text, { files = null, note = "", buttons = [], blocks, foot = null } = {}) {
  const words = h("div", { class: "text", dir: "auto" });
  showWords(words, { text, blocks: blocks && wholeBlocks(blocks) });
  return h(
    "article",
    { class: "message message-user", "aria-label": "You" },
    files,
    text || !files ? h("div", { class: "bubble" }, words) : null,
    note ? h("p", { class: "note" }, note) : null,
    buttons.length ? h("div", { class: "waiting-buttons" }, ...buttons.map(smallButton)) : null,
    foot,
  );
}

function smallButton({ text, click }) {
  return h("button", { type: "button", class: "button button-small", on: { click } }, text);
}

/** An article for what is not said by anybody: a notice, or the summary that stands for older messages. */
export function asideArticle(message) {
  if (message.kind === "summary") return summaryArticle(message);
  return h("article", { class: "message message-aside", dir: "auto" }, textOf(message.content));
}

function summaryArticle(message) {
  const words = h("div", { class: "text", dir: "auto" });
  showWords(words, { text: message.text, blocks: message.blocks && wholeBlocks(message.blocks) });
  return h(
    "article",
    { class: "message message-aside", "aria-label": "Summary" },
    h("details", {}, h("summary", {}, "Summary of the older messages, which the model gets in their place"), words),
  );
}

/** An article for a stored reply; `retry` is offered beside an end that asks for it, `foot` stands below. */
export function replyArticle(message, results, { retry, foot }) {
  const article = emptyReply();
  article.dataset.turn = message.turn;
  showParts(article.firstChild, partsOf(message, results));
  if (isCut(message)) article.append(endMark(message.status, message.error, retry));
  if (foot) article.append(foot);
  return article;
}

/** Whether a reply ended otherwise than by itself. */
export function isCut(message) {
  return message.status in ENDS;
}

export function emptyReply() {
  return h("article", { class: "message message-reply", "aria-label": "Reply" }, h("div", { class: "parts" }));
}

/** Bring the parts on the page in step with those of a turn; what is unchanged stays untouched. */
export function showParts(container, parts) {
  parts.forEach((part, place) => {
    let shown = container.children[place];
    if (shown?.dataset.kind !== part.kind) {
      const fresh = CREATE[part.kind](part);
      fresh.dataset.kind = part.kind;
      if (shown) shown.replaceWith(fresh);
      else container.append(fresh);
      shown = fresh;
    }
    UPDATE[part.kind](shown, part);
  });
  while (container.children.length > parts.length) container.lastChild.remove();
}

/** "Stopped", "Failed: why" or "Interrupted: why", with what can be done. */
export function endMark(status, error, retry) {
  const name = ENDS[status];
  const why = error?.message ?? "";
  return h(
    "div",
    { class: "end", "data-status": status },
    h("p", { class: "end-text" }, h("strong", {}, why ? `${name}: ` : name), why),
    error?.hint ? h("p", { class: "end-hint" }, error.hint) : null,
    retry && h("button", { type: "button", class: "button button-small", on: { click: retry } }, icon("retry"), "Retry"),
  );
}

const CREATE = {
  text: () => h("div", { class: "text", dir: "auto" }),
  reasoning: () =>
    h("details", { class: "reasoning" }, h("summary", {}, "Reasoning"), h("div", { class: "text", dir: "auto" })),
  tool: () =>
    h(
      "details",
      { class: "tool" },
      h("summary", {}, icon("tool"), h("span", { class: "tool-name" }), h("span", { class: "tool-state" })),
      h("p", { class: "tool-label" }, "Arguments"),
      h("pre", { class: "tool-args" }),
      h("p", { class: "tool-label" }, "Result"),
      h("pre", { class: "tool-result" }),
    ),
};

const UPDATE = {
  text: showWords,
  reasoning: (block, part) => growText(block.lastChild, part.text),
  tool: (block, part) => {
    const isDone = part.result !== null;
    label(block.querySelector(".tool-name"), part.name);
    label(block.querySelector(".tool-state"), toolState(part));
    label(block.querySelector(".tool-args"), pretty(part.args));
    label(block.querySelector(".tool-result"), isDone ? part.result : "…");
    block.classList.toggle("is-error", part.is_error);
    block.classList.toggle("is-running", !isDone);
  },
};

/** Words as rendered blocks, or as plain text where nobody has rendered them. */
function showWords(element, { text, blocks }) {
  if (!blocks) {
    growText(element, text);
    return;
  }
  if (!element.classList.contains("is-rendered")) element.replaceChildren();
  element.classList.add("is-rendered");
  showBlocks(element, blocks);
}

function toolState(part) {
  if (part.result === null) return "running";
  const took = typeof part.duration === "number" ? ` in ${part.duration.toFixed(1)} s` : "";
  return `${part.is_error ? "failed" : "done"}${took}`;
}

function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value ?? {}, null, 2);
}

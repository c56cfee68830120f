/** One fact as a card: what is remembered, where it was said, and what a person can do about it. */

import { h, linkTo } from "./dom.js";
import { fullTime } from "./format.js";
import { addressOf } from "./sessions.js";

const KINDS = ["fact", "preference", "project", "instruction"];
const STATES = { active: "", suggested: "suggested", withdrawn: "withdrawn", deleted: "forgotten" };
const ERASED = "[erased]";

/** `does` has `change(name, body)`, `edit(id or null)` and `openSource(source)`. */
export function factCard(fact, isEdited, does) {
  const contents = isEdited ? editor(fact, does) : [h("p", { class: "fact-text", dir: "auto" }, fact.text), about(fact, does), buttons(fact, does)];
  return h("li", { class: `card fact fact-${fact.state}` }, ...contents);
}

function about(fact, does) {
  const { source } = fact;
  const badge = STATES[fact.state] ? h("span", { class: "badge" }, STATES[fact.state]) : null;
  const time = h("time", { class: "hint" }, `${fact.kind} · ${fullTime(fact.created_at)}`);
  const link = source ? linkTo(addressOf(source), () => does.openSource(source), { class: "hint" }, "Where it was said") : null;
  return h("div", { class: "card-head" }, badge, time, link);
}

function buttons(fact, does) {
  const { id } = fact;
  const button = (text, run) =>
    h("button", { type: "button", class: "button button-small", "aria-label": `${text}: ${fact.text}`, on: { click: run } }, text);
  const forget = button("Forget", () => does.change("delete", { id }));
  const choices = {
    active: [button("Correct", () => does.edit(id)), forget],
    suggested: [button("Accept", () => does.change("accept", { id })), button("Refuse", () => does.change("refuse", { id }))],
    withdrawn: [button("Remember it", () => does.change("restore", { id })), forget],
    deleted: [button("Bring back", () => does.change("restore", { id }))],
  };
  const shown = fact.text === ERASED ? [] : choices[fact.state];
  if (shown[0]) shown[0].dataset.focus = "";
  return h("div", { class: "card-line" }, ...shown);
}

function editor(fact, does) {
  const text = h("textarea", { class: "fact-editor", rows: "3", maxlength: "400", "aria-label": "What is remembered" }, fact.text);
  const kind = h("select", { "aria-label": "Kind" }, ...KINDS.map((name) => h("option", { selected: name === fact.kind }, name)));
  const save = () => does.change("update", { id: fact.id, text: text.value.trim(), kind: kind.value });
  text.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || !["Enter", "Escape"].includes(event.key) || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") save();
    else does.edit(null);
  });
  const button = (name, run) => h("button", { type: "button", class: "button button-small", on: { click: run } }, name);
  return [text, h("div", { class: "card-line" }, kind, button("Save", save), button("Cancel", () => does.edit(null)))];
}

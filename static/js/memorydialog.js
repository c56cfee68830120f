/** The dialog "Memory": what is remembered, where it was said, and what a person can do about it. */

import { createDialog } from "./dialog.js";
import { h, label, linkTo, reconcile } from "./dom.js";
import { fullTime } from "./format.js";
import { addressOf } from "./sessions.js";

const KINDS = ["fact", "preference", "project", "instruction"];
const STATES = { active: "", suggested: "suggested", withdrawn: "withdrawn", deleted: "forgotten" };
const ERASED = "[erased]";

export function createMemoryDialog(facts, act) {
  const dialog = createDialog("memory", facts.close);
  const [list, note, problem, said, search, state, more, form, added] = [
    "memory-list", "memory-note", "memory-problem", "memory-said", "memory-search", "memory-state", "memory-more", "memory-form", "memory-text",
  ].map((id) => document.getElementById(id));
  let shown = null;

  document.getElementById("memory-open").addEventListener("click", facts.open);
  search.addEventListener("input", () => facts.search(search.value));
  state.addEventListener("change", () => facts.filter(state.value));
  more.addEventListener("click", facts.more);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (added.value.trim() && (await facts.add(added.value.trim()))) added.value = "";
  });

  return ({ memory }) => {
    if (memory === shown) return;
    const isNewlyEdited = memory?.editing && memory.editing !== shown?.editing;
    shown = memory;
    if (!memory) return dialog.show(false);
    if (search.value !== memory.query) search.value = memory.query;
    if (state.value !== memory.state) state.value = memory.state;
    label(problem, memory.problem);
    label(said, memory.said);
    label(note, noteOn(memory));
    more.hidden = !memory.next;
    const items = (memory.facts ?? []).map((fact) => ({ fact, isEdited: fact.id === memory.editing }));
    reconcile(list, items, { key: ({ fact }) => fact.id, create: createCard, isSame: (a, b) => a.fact === b.fact && a.isEdited === b.isEdited });
    dialog.show(true);
    if (isNewlyEdited) list.querySelector("textarea")?.focus();
  };

  function createCard({ fact, isEdited }) {
    return h("li", { class: `card fact fact-${fact.state}` }, ...(isEdited ? editor(fact) : [h("p", { class: "fact-text", dir: "auto" }, fact.text), about(fact), buttons(fact)]));
  }

  function about(fact) {
    const { source } = fact;
    const badge = STATES[fact.state] ? h("span", { class: "badge" }, STATES[fact.state]) : null;
    const time = h("time", { class: "hint" }, `${fact.kind} · ${fullTime(fact.created_at)}`);
    const link = source ? linkTo(addressOf(source), () => openSource(source), { class: "hint" }, "Where it was said") : null;
    return h("div", { class: "card-head" }, badge, time, link);
  }

  function openSource(source) {
    dialog.close();
    act.openHit(source);
  }

  function buttons(fact) {
    const { id } = fact;
    const button = (text, run) =>
      h("button", { type: "button", class: "button button-small", "aria-label": `${text}: ${fact.text}`, on: { click: run } }, text);
    const forget = button("Forget", () => facts.act("delete", { id }));
    const choices = {
      active: [button("Correct", () => facts.edit(id)), forget],
      suggested: [button("Accept", () => facts.act("accept", { id })), button("Refuse", () => facts.act("refuse", { id }))],
      withdrawn: [button("Remember it", () => facts.act("restore", { id })), forget],
      deleted: [button("Bring back", () => facts.act("restore", { id }))],
    };
    return h("div", { class: "card-line" }, ...(fact.text === ERASED ? [] : choices[fact.state]));
  }

  function editor(fact) {
    const text = h("textarea", { class: "fact-editor", rows: "3", maxlength: "400", "aria-label": "What is remembered" }, fact.text);
    const kind = h("select", { "aria-label": "Kind" }, ...KINDS.map((name) => h("option", { selected: name === fact.kind }, name)));
    const save = () => facts.act("update", { id: fact.id, text: text.value.trim(), kind: kind.value });
    text.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229 || !["Enter", "Escape"].includes(event.key) || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Enter") save();
      else facts.edit(null);
    });
    const button = (name, run) => h("button", { type: "button", class: "button button-small", on: { click: run } }, name);
    return [text, h("div", { class: "card-line" }, kind, button("Save", save), button("Cancel", () => facts.edit(null)))];
  }
}

/** One line on how memory is, and on a list with nothing in it. */
function noteOn({ status, facts, query, state }) {
  const waiting = (status?.uncommitted ?? []).reduce((sum, { turns }) => sum + turns, 0);
  const parts = [
    status?.reason,
    waiting ? `${waiting} ${waiting === 1 ? "turn waits" : "turns wait"} to be learned from.` : "",
    facts?.length === 0 ? (query.trim() || state ? "Nothing found." : "Nothing is remembered yet. What you say about yourself in a chat is learned when the chat ends.") : "",
  ];
  return parts.filter(Boolean).join(" ");
}

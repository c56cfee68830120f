/** The dialog "Memory": what is remembered, where it was said, and what a person can do about it. */

import { createDialog } from "./dialog.js";
import { label, reconcile } from "./dom.js";
import { factCard } from "./factcard.js";

export function createMemoryDialog(facts, act) {
  const dialog = createDialog("memory", facts.close);
  const [list, note, problem, said, search, state, more, form, added] = [
    "memory-list", "memory-note", "memory-problem", "memory-said", "memory-search", "memory-state", "memory-more", "memory-form", "memory-text",
  ].map((id) => document.getElementById(id));
  const does = { change: facts.act, edit: facts.edit, openSource };
  let shown = null;

  function openSource(source) {
    facts.close();
    act.openHit(source);
  }

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
    reconcile(list, items, { key: ({ fact }) => fact.id, create: ({ fact, isEdited }) => factCard(fact, isEdited, does), isSame: (a, b) => a.fact === b.fact && a.isEdited === b.isEdited });
    dialog.show(true);
    if (isNewlyEdited) list.querySelector("textarea")?.focus();
  };
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

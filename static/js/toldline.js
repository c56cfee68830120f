/** The quiet line under a reply: which facts it was given and has taught; it opens into them. */

import { h, label, reconcile } from "./dom.js";
import { factCard } from "./factcard.js";

/** Bring the line of a reply in step with `told`, the facts of its turn; without any there is no line. */
export function showTold(article, told, edited, does) {
  const line = article.querySelector(":scope > .told");
  if (!told) {
    line?.remove();
    return;
  }
  const details = line ?? h("details", { class: "told" }, h("summary"), h("ul", { class: "cards", "aria-label": "Memories" }), h("p", { class: "hint" }));
  if (!line) article.insertBefore(details, article.querySelector(":scope > .message-foot"));
  const [summary, list, note] = details.children;
  const wasEdited = list.querySelector("textarea") !== null;
  label(summary, sentence(told));
  const items = told.facts.map((fact) => ({ fact, isEdited: fact.id === edited }));
  reconcile(list, items, {
    key: ({ fact }) => fact.id,
    create: ({ fact, isEdited }) => factCard(fact, isEdited, does),
    isSame: (a, b) => a.fact === b.fact && a.isEdited === b.isEdited,
  });
  if (!wasEdited) list.querySelector("textarea")?.focus();
  label(note, told.facts.length === 0 ? "Their words are kept by the memory server." : "");
}

function sentence({ recalled, learned }) {
  const used = recalled > 0 ? `Used ${recalled} ${recalled === 1 ? "memory" : "memories"}` : "";
  if (learned === 0) return used;
  return used ? `${used}, learned ${learned}` : `Learned ${learned}`;
}

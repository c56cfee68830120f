/** The dialog that says in which project a chat is and which tags it has. */

import { createDialog } from "./dialog.js";
import { h, label } from "./dom.js";

export function createLabelsDialog(chats) {
  const dialog = createDialog("labels", () => chats.startLabels(null));
  const [project, tags, projects, known, title, problem] = [
    "labels-project", "labels-tags", "labels-projects", "labels-known", "labels-chat", "labels-problem",
  ].map((id) => document.getElementById(id));
  let shownFacets = null;
  let row = null;

  document.getElementById("labels-form").addEventListener("submit", (event) => {
    event.preventDefault();
    chats.label(row, { project: project.value.trim(), tags: tagsIn(tags.value) });
  });

  return ({ labelling, facets }) => {
    dialog.show(labelling !== null);
    if (labelling && labelling.row !== row) begin(labelling.row);
    row = labelling?.row ?? null;
    label(problem, labelling?.problem ?? "");
    if (facets !== shownFacets) offer(facets);
  };

  function begin(of) {
    title.textContent = of.title || "Untitled";
    project.value = of.project ?? "";
    tags.value = (of.tags ?? []).join(", ");
  }

  function offer(facets) {
    shownFacets = facets;
    projects.replaceChildren(...facets.projects.map(({ name }) => h("option", { value: name })));
    known.replaceChildren(...facets.tags.map(({ name }) => h("li", {}, h("button", { type: "button", class: "button button-small", on: { click: () => add(name) } }, name))));
  }

  function add(name) {
    const all = tagsIn(tags.value);
    tags.value = (all.includes(name) ? all.filter((tag) => tag !== name) : [...all, name]).join(", ");
  }
}

function tagsIn(text) {
  return [...new Set(text.split(",").map((tag) => tag.trim()))].filter(Boolean);
}

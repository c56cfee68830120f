/** The dialog that says in which project a chat is and which tags it has. */

import { h } from "./dom.js";

export function createLabelsDialog(act) {
  const dialog = document.getElementById("labels");
  const [project, tags, projects, known, title] = ["labels-project", "labels-tags", "labels-projects", "labels-known", "labels-chat"].map(
    (id) => document.getElementById(id),
  );
  let shownFacets = null;
  let row = null;

  dialog.addEventListener("close", () => act.startLabels(null));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.getElementById("labels-close").addEventListener("click", () => dialog.close());
  document.getElementById("labels-form").addEventListener("submit", (event) => {
    event.preventDefault();
    act.label(row, { project: project.value.trim(), tags: tagsIn(tags.value) });
  });

  return ({ labelling, facets }) => {
    if (!labelling) {
      if (dialog.open) dialog.close();
      row = null;
      return;
    }
    if (labelling !== row) begin(labelling);
    if (facets !== shownFacets) offer(facets);
    if (!dialog.open) dialog.showModal();
  };

  function begin(of) {
    row = of;
    title.textContent = row.title || "Untitled";
    project.value = row.project ?? "";
    tags.value = (row.tags ?? []).join(", ");
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

/** The choice above the list: all chats, the archive, one project or one tag. */

import { h } from "./dom.js";
import { ALL } from "./rows.js";

const ARCHIVE = { ...ALL, archived: true };

export function createFilter(chats) {
  const select = document.getElementById("filter");
  let shownFacets = null;
  let filters = [];

  select.addEventListener("change", () => chats.choose(filters[select.selectedIndex]));
  // What other tabs have named since.
  select.addEventListener("focus", chats.readFacets);

  return ({ list: { filter }, facets, search }) => {
    // A search looks in all chats.
    select.hidden = search.query.trim() !== "";
    const isNew = JSON.stringify(facets) !== JSON.stringify(shownFacets);
    if (isNew) fill(facets);
    const index = filters.findIndex((known) => isSame(known, filter));
    if (select.selectedIndex !== index) select.selectedIndex = index;
    select.classList.toggle("is-on", index > 0);
  };

  function fill(facets) {
    shownFacets = facets;
    const { projects, tags } = facets;
    filters = [ALL, ARCHIVE, ...projects.map(({ name }) => ({ ...ALL, project: name })), ...tags.map(({ name }) => ({ ...ALL, tag: name }))];
    select.replaceChildren(h("option", {}, "All chats"), h("option", {}, "Archive"), ...group("Projects", projects), ...group("Tags", tags));
  }
}

function group(label, facets) {
  const options = facets.map(({ name, count }) => h("option", {}, `${name} (${count})`));
  return options.length > 0 ? [h("optgroup", { label }, ...options)] : [];
}

function isSame(a, b) {
  return a.archived === b.archived && a.project === b.project && a.tag === b.tag;
}

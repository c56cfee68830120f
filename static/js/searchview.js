/** The search box above the chats and the hits in the place of the list. */

import { h, label, linkTo, reconcile } from "./dom.js";
import { ago, fullTime } from "./format.js";
import { addressOf } from "./sessions.js";

export function createSearchView(act) {
  const input = document.getElementById("search");
  const chats = document.getElementById("session-scroll");
  const pane = document.getElementById("search-scroll");
  const list = document.getElementById("search-results");
  const note = document.getElementById("search-note");
  const opener = document.getElementById("drawer-open");
  const more = document.getElementById("search-more");
  let opened = null;
  let shown = null;

  input.addEventListener("input", () => act.search(input.value));
  input.addEventListener("keydown", onBoxKey);
  list.addEventListener("keydown", onListKey);
  more.addEventListener("click", act.moreResults);

  function render({ search, open }) {
    if (shown?.search === search && shown.open === open) return;
    shown = { search, open };
    const isOn = search.query.trim() !== "";
    chats.hidden = isOn;
    pane.hidden = !isOn;
    if (input.value !== search.query) input.value = search.query;
    const items = (search.results ?? []).map((hit) => ({ hit, isOpen: hit.session_id === open }));
    reconcile(list, items, { key: ({ hit }) => keyOf(hit), create: createHit, isSame: (a, b) => a.hit === b.hit && a.isOpen === b.isOpen });
    label(note, noteOn(search));
    more.hidden = !search.next;
  }

  function createHit({ hit, isOpen }) {
    const link = linkTo(
      addressOf(hit),
      () => openHit(hit),
      { class: "session-link", "aria-current": isOpen ? "page" : null },
      h("span", { class: "session-line" }, h("span", { class: "session-title", dir: "auto" }, hit.title || "Untitled"), createTime(hit)),
      h("span", { class: "hit-snippet", dir: "auto" }, hit.match_type === "title" ? "In the title" : hit.snippet),
    );
    return h("li", { class: `session${isOpen ? " is-open" : ""}` }, link);
  }

  function openHit(hit) {
    opened = keyOf(hit);
    act.openHit(hit);
  }

  function onBoxKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape" && input.value) {
      act.search("");
      event.preventDefault();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      list.querySelector("a")?.focus();
    } else if (event.key === "Enter") {
      event.preventDefault();
      list.querySelector("a")?.click();
    }
  }

  function onListKey(event) {
    const links = [...list.querySelectorAll("a")];
    const place = links.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") focus();
    else if (step && place !== -1) (links[place + step] ?? (step < 0 ? input : links[place])).focus();
    else return;
    event.preventDefault();
  }

  function focus() {
    goTo(() => input);
  }

  /** The focus goes to what `find` names once the drawer, where there is one, is open. */
  function goTo(find) {
    if (opener.getClientRects().length > 0) act.drawer(true);
    requestAnimationFrame(() => find().focus());
  }

  /** From the message of a hit back to the hit; false from anywhere else. */
  function back() {
    if (!opened || pane.hidden || !document.activeElement?.classList.contains("is-found")) return false;
    goTo(() => list.querySelector(`[data-key="${CSS.escape(opened)}"] a`) ?? input);
    return true;
  }

  return { render, focus, back };
}

function keyOf(hit) {
  return `${hit.session_id} ${hit.message_id ?? "title"}`;
}

function createTime({ timestamp: time }) {
  return h("time", { class: "session-time", title: fullTime(time), "data-time": time }, ago(time, Date.now() / 1000));
}

function noteOn({ query, results, isReading, problem }) {
  if (!query.trim()) return "";
  if (problem) return problem;
  if (isReading || results === null) return "Searching…";
  return results.length === 0 ? "Nothing found." : "";
}

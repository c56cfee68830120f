/** Small helpers that build and update elements; text enters the page as text only. */

const SVG = "http://www.w3.org/2000/svg";
const CHUNK = 4000;
const shownTexts = new WeakMap();

/** An element. `props`: `class`, `on` (listeners), properties by name, attributes for the rest. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "class") element.className = value;
    else if (name === "on") listen(element, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A link that `follow` takes; opening it in a new tab or window stays the browser's. */
export function linkTo(href, follow, props, ...children) {
  const click = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    follow();
  };
  return h("a", { ...props, href, on: { click } }, ...children);
}

/** An icon of the sheet in the page; the control around it carries the name. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onClick, props = {}) {
  const click = { click: onClick };
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, on: click, ...props }, icon(name));
}

/** Set the text of an element only if it differs. */
export function label(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Make the children of `parent` those of `items`, by key: `create(item)` builds one, `isSame(a, b)` says
 * that an item is shown already. Elements that stay are not touched, so focus and selection stay too.
 */
export function reconcile(parent, items, { key, create, isSame }) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const focused = focusIn(parent);
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    const found = known.get(name);
    known.delete(name);
    const child = found && isSame(found.shownItem, item) ? found : made(create(item), name, item);
    if (found && found !== child) {
      if (found === at) at = child;
      found.replaceWith(child);
    }
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const child of known.values()) child.remove();
  if (focused) refocus(parent, focused);
}

/** Show a text that mostly grows: what is new is appended. */
export function growText(block, text) {
  const shown = shownTexts.get(block) ?? "";
  if (shown === text) return;
  shownTexts.set(block, text);
  if (!text.startsWith(shown)) block.replaceChildren();
  appendText(block, text.startsWith(shown) ? text.slice(shown.length) : text);
}

/**
 * Add to the text of an element. Long texts stand in several blocks that end with a line, so that the
 * browser lays out only the last one again.
 */
export function appendText(block, text) {
  let rest = text;
  while (rest !== "") {
    if (!block.lastElementChild) block.replaceChildren(h("div", { class: "chunk" }, block.textContent));
    const node = block.lastChild.firstChild ?? block.lastChild.appendChild(new Text(""));
    const cut = node.length + rest.length > CHUNK ? rest.indexOf("\n", Math.max(0, CHUNK - node.length)) : -1;
    node.appendData(cut === -1 ? rest : rest.slice(0, cut + 1));
    rest = cut === -1 ? "" : rest.slice(cut + 1);
    if (cut !== -1) block.append(h("div", { class: "chunk" }));
  }
}

/** Where the focus is among the children of an element: in which, at which of its controls. */
function focusIn(parent) {
  const focused = document.activeElement;
  const child = [...parent.children].find((one) => one.contains(focused));
  return child && { key: child.dataset.key, name: nameOf(focused), place: controls(child).indexOf(focused) };
}

/** What had the focus was drawn anew or moved: the focus goes on to its like, else to what is marked `data-focus`. */
function refocus(parent, { key, name, place }) {
  const child = [...parent.children].find((one) => one.dataset.key === key);
  if (!child || place === -1 || child.contains(document.activeElement)) return;
  const all = controls(child);
  const like = all.find((control) => nameOf(control) === name) ?? child.querySelector("[data-focus]") ?? all[place];
  (like ?? all.at(-1))?.focus({ preventScroll: true });
}

function nameOf(control) {
  return `${control.tagName} ${control.getAttribute("aria-label") ?? control.textContent}`;
}

function controls(element) {
  return [...element.querySelectorAll("a, button, input, select, summary, textarea")];
}

function made(child, name, item) {
  child.dataset.key = name;
  child.shownItem = item;
  return child;
}

function listen(element, listeners) {
  for (const [type, listener] of Object.entries(listeners)) element.addEventListener(type, listener);
}

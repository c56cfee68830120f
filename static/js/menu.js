/** A menu beside the button that opens it: one at a time, for keyboard, pointer and touch. */

import { h } from "./dom.js";

const GAP = 4;

const STEPS = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

/** Show `items` (`{text, run}`) beside `button`; `findButton` gives it again, also when it was drawn anew. */
export function openMenu(button, name, items, findButton) {
  const close = (isBack) => {
    menu.hidePopover();
    if (isBack) findButton()?.focus({ preventScroll: true });
  };
  const choose = (item) => {
    close(true);
    item.run();
  };
  const buttons = items.map((item) =>
    h("button", { type: "button", class: "menu-item", role: "menuitem", tabindex: "-1", on: { click: () => choose(item) } }, item.text),
  );
  const menu = h("div", { class: "menu", role: "menu", "aria-label": name, popover: "auto" }, ...buttons);
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  menu.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step) buttons[step(buttons.indexOf(document.activeElement), buttons.length)].focus();
    else if (event.key === "Escape" || event.key === "Tab") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.append(menu);
  menu.showPopover();
  place(menu, button.getBoundingClientRect());
  buttons[0].focus({ preventScroll: true });
}

/** Below the button, or above it where there is no room; inside the window in any case. */
function place(menu, { left, right, top, bottom }) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const isLeftToRight = getComputedStyle(document.body).direction === "ltr";
  const x = isLeftToRight ? left : right - width;
  const y = bottom + GAP + height <= innerHeight ? bottom + GAP : top - GAP - height;
  menu.style.left = `${Math.max(GAP, Math.min(x, innerWidth - width - GAP))}px`;
  menu.style.top = `${Math.max(GAP, y)}px`;
}

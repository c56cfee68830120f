/** The panel above the message box: answers of commands, and what went wrong. */

import { h, iconButton } from "./dom.js";

export function createPanel(act) {
  const section = document.getElementById("panel");
  let shown = null;

  return ({ panel }) => {
    if (panel === shown) return;
    shown = panel;
    section.hidden = panel === null;
    section.className = `panel${panel ? ` panel-${panel.kind}` : ""}`;
    section.setAttribute("aria-label", panel?.title ?? "");
    section.replaceChildren(...(panel ? contents(panel, act) : []));
  };
}

function contents(panel, act) {
  const head = h("div", { class: "panel-head" }, h("h2", {}, panel.title), iconButton("close", "Close", act.closePanel));
  const text = h("div", { class: "panel-text", tabindex: "0", dir: "auto", role: panel.kind === "problem" ? "alert" : null }, panel.text);
  return panel.kind === "unknown" ? [head, text, choices(panel, act)] : [head, text];
}

function choices(panel, act) {
  const button = (name, kind, onClick) => h("button", { type: "button", class: `button button-small ${kind}`, on: { click: onClick } }, name);
  const rest = panel.sent.replace(/^\S+/, "");
  return h(
    "div",
    { class: "panel-choices" },
    ...panel.suggestions.map((name) => button(name, "", () => act.take(name + rest))),
    button("Send as text", "button-quiet", () => act.sendAsText(panel.sent)),
  );
}

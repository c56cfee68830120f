/** The row below a message: its variants, what can be done with it, and when it was said. */

import { say } from "./announcer.js";
import { copy } from "./copying.js";
import { h, icon, iconButton } from "./dom.js";
import { clock, fullTime } from "./format.js";
import { openMenu } from "./menu.js";

const SAID_MS = 2000;

/** `words` gives the text to copy; `retry` is null where asking again is offered elsewhere or makes no sense. */
export function messageFoot(message, { words, retry, act }) {
  const { id } = message;
  const isUser = message.role === "user";
  return h(
    "div",
    { class: "message-foot" },
    message.variants && variantSwitch(message.variants, act),
    h(
      "div",
      { class: "message-actions" },
      copyButton(isUser ? "Copy message" : "Copy reply", words),
      isUser ? iconButton("edit", "Edit", () => act.editMessage(message)) : null,
      retry && iconButton("retry", "Retry", retry),
      isUser ? null : iconButton("branch", "Branch from here", () => act.branch(id)),
      iconButton("more", "More", (event) => openMore(event.currentTarget, id, act), { "aria-haspopup": "menu" }),
      message.timestamp ? h("time", { class: "message-time", title: fullTime(message.timestamp) }, clock(message.timestamp)) : null,
    ),
  );
}

function copyButton(name, words) {
  const button = iconButton("copy", name, async () => {
    const isCopied = await copy(words());
    say(isCopied ? "Copied." : "Not copied: the browser does not allow it.");
    button.replaceChildren(icon(isCopied ? "check" : "close"));
    setTimeout(() => button.replaceChildren(icon("copy")), SAID_MS);
  });
  return button;
}

function openMore(button, id, act) {
  const items = [
    { text: "Copy link", run: () => act.copyLink(id) },
    { text: "Erase", run: () => act.erase(id) },
  ];
  const article = button.closest("article");
  openMenu(button, "More for this message", items, () => document.querySelector(`[data-key="${CSS.escape(article.dataset.key)}"] [aria-haspopup]`));
}

function variantSwitch({ index, count, ids }, act) {
  const step = (by, name, text) => {
    const target = ids[index + by];
    return iconButton(name, text, () => act.select(target), { disabled: target === undefined });
  };
  return h(
    "div",
    { class: "variants", role: "group", "aria-label": "Variants" },
    step(-1, "left", "Previous variant"),
    h("span", {}, `${index + 1}/${count}`),
    step(1, "right", "Next variant"),
  );
}

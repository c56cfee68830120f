/** The message box: grows, sends, completes commands. */

import { createCompletion, shownCompletion } from "./completion.js";

const TALLEST = 0.4;

export function createComposer(store, act) {
  const box = document.getElementById("message");
  const stop = document.getElementById("stop");
  const send = document.getElementById("send");
  const isTouch = matchMedia("(pointer: coarse)");
  let [grownFor, grownAt] = [null, 0];
  const showCompletion = createCompletion(box, { complete });

  document.getElementById("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    act.send();
    box.focus();
  });
  stop.addEventListener("click", () => {
    act.stop();
    box.focus();
  });
  box.addEventListener("input", () => store.dispatch({ type: "draft/changed", text: box.value }));
  box.addEventListener("keydown", pressed);
  new ResizeObserver(() => box.clientWidth !== grownAt && grow()).observe(box);

  function pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const found = shownCompletion(store.get());
    if (found.length > 0 && choose(event, found)) {
      event.preventDefault();
      return;
    }
    if (event.key === "ArrowUp" && box.value === "" && act.editLast()) {
      event.preventDefault();
      return;
    }
    if (event.key !== "Enter" || event.altKey || !isSend(event)) return;
    event.preventDefault();
    act.send();
  }

  /** Enter alone sends, or with Ctrl, as a person likes it; on a touch screen it begins a line. */
  function isSend({ shiftKey, ctrlKey, metaKey }) {
    if (ctrlKey || metaKey) return !shiftKey;
    return !shiftKey && !isTouch.matches && store.get().preferences.enter === "send";
  }

  /** Whether the key belonged to the open list. */
  function choose(event, found) {
    const active = Math.min(store.get().completion.active, found.length - 1);
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      store.dispatch({ type: "completion", change: { active: (active + move + found.length) % found.length } });
      return true;
    }
    if (event.key === "Escape" && !event.shiftKey) {
      store.dispatch({ type: "completion", change: { isClosed: true } });
      return true;
    }
    const isTaken = box.value.toLowerCase() === `/${found[active].name}`;
    if (event.shiftKey || !(event.key === "Tab" || (event.key === "Enter" && !isTaken))) return false;
    complete(found[active]);
    return true;
  }

  function complete(command) {
    store.dispatch({ type: "draft/changed", text: `/${command.name}${command.hint ? " " : ""}` });
    store.dispatch({ type: "completion", change: { isClosed: true } });
    box.focus();
  }

  function grow() {
    [grownFor, grownAt] = [box.value, box.clientWidth];
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, innerHeight * TALLEST)}px`;
  }

  function render(state) {
    const { draft, turn } = state;
    if (box.value !== draft.text) {
      box.value = draft.text;
      box.setSelectionRange(draft.text.length, draft.text.length);
    }
    if (grownFor !== box.value) grow();
    showCompletion(state);
    stop.hidden = !turn || turn.terminal !== null;
    stop.disabled = turn?.isStopping === true;
    const isComing = state.uploads.some((upload) => upload.visit === state.visit);
    send.disabled = state.isSendDue || (draft.text.trim() === "" && draft.attachments.length === 0 && !isComing);
  }

  return { render, focus: () => box.focus() };
}

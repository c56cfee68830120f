/** Says to a screen reader what happens to the reply: one polite line, silent while tokens flow. */

import { shownCompletion } from "./completion.js";
import { label } from "./dom.js";

const ENDS = { done: "The reply is finished.", cancel: "The reply was stopped." };

export function createAnnouncer() {
  const line = document.getElementById("status");
  let spoken = "";
  let count = 0;

  return (state) => {
    const { turn } = state;
    const moment = turn ? `${turn.stream_id} ${turn.terminal?.type ?? ""}` : spoken;
    if (moment !== spoken && turn) label(line, sentence(turn));
    spoken = moment;
    const found = shownCompletion(state).length;
    if (found !== count && found > 0) label(line, found === 1 ? "1 command" : `${found} commands`);
    count = found;
  };
}

/** Say what a person has just done, where nothing else on the page says it; the same words count again. */
export function say(text) {
  const line = document.getElementById("status");
  label(line, "");
  requestAnimationFrame(() => label(line, text));
}

function sentence(turn) {
  if (!turn.terminal) return "A reply is being written.";
  return ENDS[turn.terminal.type] ?? `The reply failed: ${turn.terminal.message}`;
}

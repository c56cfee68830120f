/** The lines that say what is so: which agent and model answer, and what it is doing. */

import { label } from "./dom.js";
import { tokens } from "./format.js";
import { agentInfo, modelLabel } from "./models.js";
import { NEW } from "./written.js";

/** What the open chat is doing: a word for the style, and the words for the reader. */
export function stateOf({ turn, link, outbox, uploads, isSendDue, open, visit }) {
  if (turn && !turn.terminal) return runningState(turn);
  if (outbox.some((entry) => entry.key === (open ?? NEW))) return ["busy", "Sending…"];
  if (uploads.some((upload) => upload.visit === visit)) return ["busy", isSendDue ? "Uploading; sent when that is done…" : "Uploading…"];
  if (link === "lost") return ["lost", "Not connected. Connecting again…"];
  if (turn?.terminal?.type === "apperror") return ["failed", "The last reply failed"];
  return ["idle", "Ready"];
}

export function createStatusLine() {
  const [title, agent, model] = ["chat-title", "chat-agent", "chat-model"].map((id) => document.getElementById(id));
  const [dot, text, count] = ["state-dot", "state-text", "state-tokens"].map((id) => document.getElementById(id));
  const note = document.getElementById("model-note");
  const better = document.getElementById("model-note-open");
  const welcome = document.getElementById("welcome");
  const words = welcome.appendChild(document.createElement("h2"));
  const hint = welcome.appendChild(document.createElement("p"));
  label(words, "What would you like to ask?");
  label(hint, "Everything stays on this machine, unless the model you connect is elsewhere. Type / for commands.");

  return (state) => {
    const { session, open, turn, models, usage, outbox } = state;
    const [kind, sentence] = stateOf(state);
    dot.dataset.state = kind;
    label(text, sentence);
    label(count, tokens(usage));
    const name = open ? session?.title || (session ? "Untitled" : "") : "New chat";
    label(title, name);
    document.title = `${turn && !turn.terminal ? "● " : ""}${open && session?.title ? `${session.title} · ` : ""}Talaria`;
    const info = agentInfo(models, session?.agent);
    const modelName = modelLabel(state);
    label(agent, info ? `${info.name}${modelName ? " · " : ""}` : "");
    label(model, modelName.replace(/ \(.*/, ""));
    label(note, noteOf(info, modelName));
    note.hidden = note.textContent === "";
    better.hidden = note.hidden;
    note.classList.toggle("is-waiting", Boolean(info && !info.available));
    const isEmpty = !turn && outbox.length === 0 && (open === null || session?.messages.length === 0);
    welcome.hidden = !isEmpty || (open !== null && session.queue?.length > 0);
  };
}

function runningState(turn) {
  if (turn.link === "lost") return ["lost", "Network lost. The reply goes on; connecting again…"];
  if (turn.isStopping) return ["busy", "Stopping…"];
  const last = turn.parts.at(-1);
  if (last?.kind === "text") return ["busy", "Writing…"];
  if (last?.kind === "tool" && last.result === null) return ["busy", `Using ${last.name}…`];
  return ["busy", "Thinking…"];
}

function noteOf(info, modelName) {
  if (!info) return "";
  if (!info.available) return info.reason || `The agent ${info.name} cannot answer now.`;
  return info.name === "embedded" ? modelName : "";
}

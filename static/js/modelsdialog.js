/** The dialog "Models": what can answer, what was found on this machine, and how to connect more. */

import { createDialog } from "./dialog.js";
import { label, reconcile } from "./dom.js";
import { createEndpointForm } from "./endpointform.js";
import { chosenCard, chosenCards, foundCard, foundCards } from "./modelcards.js";
import { agentInfo, whyNoDefault } from "./models.js";

const NONE_FOUND = "No model server answers on the usual ports of Ollama, LM Studio, llama.cpp and vLLM.";

export function createModelsDialog(connecting) {
  const dialog = createDialog("models", connecting.close);
  const [list, found, note, given, error, said] = [
    "models-list", "models-found", "models-note", "models-given", "models-error", "models-said",
  ].map((id) => document.getElementById(id));
  const showForm = createEndpointForm(connecting);
  const picks = new Map();
  // Whether something better than the demonstration model answers by default.
  let hasBetter = false;

  document.getElementById("models-look").addEventListener("click", connecting.look);
  for (const id of ["models-open", "model-note-open"]) document.getElementById(id).addEventListener("click", connecting.open);

  return (state) => {
    const { connect, models } = state;
    const byDefault = agentInfo(models, null);
    hasBetter = Boolean(byDefault?.available) && byDefault.name !== "embedded";
    showForm(state, hasBetter);
    dialog.show(connect !== null);
    if (!connect) {
      picks.clear();
      return;
    }
    label(error, connect.error || connect.problem);
    label(said, connect.said);
    const cards = chosenCards(state);
    label(given, cards.map((card) => whyNoDefault(models, card.agent)).find(Boolean) ?? "");
    given.hidden = given.textContent === "";
    show(list, cards, (card) => chosenCard(card, picks, connecting));
    show(found, foundCards(state), (card) => foundCard(card, picks, connecting, () => !hasBetter));
    label(note, noteOf(connect));
    note.hidden = note.textContent === "";
  };
}

function show(parent, cards, create) {
  reconcile(parent, cards, { key: (card) => card.key, create, isSame: (a, b) => JSON.stringify(a) === JSON.stringify(b) });
}

function noteOf({ servers, endpoints }) {
  if (!servers) return "Looking…";
  if (servers.length === 0) return NONE_FOUND;
  const known = new Set((endpoints ?? []).map((endpoint) => endpoint.base_url));
  return servers.every((server) => known.has(server.base_url)) ? "All that were found are connected." : "";
}

/** One card for each place that has models: the demonstration model, endpoints, servers that were found. */

import { count } from "./connecting.js";
import { h } from "./dom.js";
import { agentInfo, whyNoDefault } from "./models.js";

/** The cards of what can be chosen now, as values. */
export function chosenCards({ connect, models, session }) {
  const endpoints = connect.endpoints ?? [];
  const inChat = placeOf(models, session);
  const byDefault = placeOf(models, null);
  const cards = endpoints.map((endpoint) => endpointCard(endpoint, connect.lists[endpoint.id]));
  const others = (models?.agents ?? []).filter((info) => info.name !== "openai").map(agentCard);
  return [...cards, ...others].map((card) => ({
    ...card,
    isInChat: isAt(card, inChat),
    isDefault: isAt(card, byDefault),
    isLeaving: connect.removing !== null && connect.removing === card.stored?.id,
    canBeDefault: !whyNoDefault(models, card.agent),
    chosen: (isAt(card, inChat) && inChat.model) || card.model || card.models[0] || null,
  }));
}

/** The cards of servers on this machine that are not connected yet. */
export function foundCards({ connect }) {
  const known = new Set((connect.endpoints ?? []).map((endpoint) => endpoint.base_url));
  const fresh = (connect.servers ?? []).filter((server) => !known.has(server.base_url));
  return fresh.map((server) => ({ key: server.base_url, ...server, chosen: server.models[0] ?? null }));
}

/** A card with its buttons; `picks` remembers what a person has picked in its list. */
export function chosenCard(card, picks, connecting) {
  const picked = () => ({ agent: card.agent, endpoint: card.endpoint, model: pickOf(picks, card) });
  const isEmpty = card.models.length === 0 && !card.chosen;
  const button = (text, onClick, isOff = false) =>
    h("button", { type: "button", class: "button button-small", disabled: isOff, on: { click: onClick } }, text);
  return h(
    "li",
    { class: "card", role: "group", "aria-label": card.name },
    head(card),
    card.note ? h("p", { class: card.isBroken ? "problem card-note" : "hint card-note" }, card.note) : null,
    h("div", { class: "card-line" },
      isEmpty ? null : modelSelect(card, picks),
      button("Use in this chat", () => connecting.use(picked()), isEmpty),
      card.canBeDefault ? button("Use by default", () => connecting.makeDefault(picked()), isEmpty) : null),
    card.stored ? h("div", { class: "card-line" }, button("Change", () => connecting.edit(card.stored)),
      button(card.isLeaving ? "Remove it and its key" : "Remove", () => connecting.remove(card.stored))) : null,
  );
}

export function foundCard(card, picks, connecting, isFirst) {
  const connect = () => {
    const { name, base_url } = card;
    connecting.save({ name, base_url, model: pickOf(picks, card) ?? "" }, isFirst());
  };
  return h(
    "li",
    { class: "card", role: "group", "aria-label": `${card.name}, found on this machine` },
    head({ ...card, place: hostOf(card.base_url), badges: [] }),
    h("div", { class: "card-line" },
      card.chosen ? modelSelect(card, picks) : h("span", { class: "hint" }, "It has no model yet."),
      h("button", { type: "button", class: "button button-small button-main", on: { click: connect } }, "Connect")),
  );
}

function placeOf(models, session) {
  const info = agentInfo(models, session?.agent);
  if (!info) return null;
  const endpoint = session?.endpoint ?? info.endpoints[0] ?? null;
  const first = info.models.find((model) => model.endpoint === endpoint);
  return { agent: info.name, endpoint, model: session?.model ?? first?.id ?? null };
}

function isAt(card, place) {
  return place !== null && card.agent === place.agent && card.endpoint === place.endpoint;
}

function endpointCard(endpoint, list) {
  const given = endpoint.editable ? "" : " Given when Talaria was started.";
  const note = !list ? "Asking for its models…" : (list.error ?? `${count(list.models.length, "model")}.${given}`);
  const models = list?.models ?? [];
  return {
    key: endpoint.id,
    agent: "openai",
    endpoint: endpoint.id,
    name: endpoint.name,
    place: hostOf(endpoint.base_url),
    model: endpoint.model,
    models: endpoint.model && !models.includes(endpoint.model) ? [endpoint.model, ...models] : models,
    note,
    isBroken: Boolean(list?.error),
    stored: endpoint.editable ? endpoint : null,
  };
}

function agentCard(info) {
  const endpoint = info.models[0]?.endpoint ?? null;
  const label = info.models[0]?.label ?? info.name;
  return {
    key: `agent ${info.name}`,
    agent: info.name,
    endpoint,
    name: label.replace(/ \(.*/, ""),
    place: "on this machine",
    model: info.models[0]?.id ?? null,
    models: info.models.map((model) => model.id),
    note: info.available ? label : info.reason,
    isBroken: false,
    stored: null,
  };
}

function head(card) {
  const badges = [card.isInChat ? "In this chat" : null, card.isDefault ? "Default" : null].filter(Boolean);
  return h(
    "div",
    { class: "card-head" },
    h("h4", {}, card.name),
    h("span", { class: "card-place" }, card.place),
    ...badges.map((text) => h("span", { class: "badge" }, text)),
  );
}

function modelSelect(card, picks) {
  const ids = card.models.includes(card.chosen) || !card.chosen ? card.models : [card.chosen, ...card.models];
  const select = h("select", { "aria-label": `Model of ${card.name}` }, ...ids.map((id) => h("option", { value: id }, id)));
  select.value = pickOf(picks, card);
  select.addEventListener("change", () => picks.set(card.key, select.value));
  return select;
}

function pickOf(picks, card) {
  const picked = picks.get(card.key);
  return card.models.includes(picked) ? picked : card.chosen;
}

function hostOf(address) {
  return new URL(address).host;
}

/** The whole state of the page, and the one pure function that changes it. */

import { hasReply } from "./line.js";
import { NO_TURN_FACTS, REMEMBERED } from "./remembered.js";
import { ALL, withPage, withRow } from "./rows.js";
import { applyEvent, newTurn } from "./turn.js";
import { NEW, WRITTEN, draftBeside, editingBeside, emptyDraft, outboxBeside, outboxBesideTurn, typed } from "./written.js";

export function initialState() {
  return {
    auth: { token: null, isNeeded: false, problem: "" },
    list: { rows: [], gone: [], next: null, state: "unread", problem: "", filter: ALL },
    facets: { projects: [], tags: [] },
    search: { query: "", results: null, next: null, isReading: false, problem: "" },
    open: null,
    target: null,
    left: null,
    visit: 0,
    session: null,
    problem: null,
    turn: null,
    usage: null,
    outbox: [],
    draft: emptyDraft(NEW),
    uploads: [],
    isSendDue: false,
    editing: null,
    panel: null,
    commands: [],
    models: null,
    connect: null,
    memory: null,
    settings: null,
    preferences: { theme: "system", enter: "send" },
    turnFacts: NO_TURN_FACTS,
    link: "connecting",
    toast: null,
    drawer: false,
    renaming: null,
    labelling: null,
    completion: { active: 0, isClosed: false },
  };
}

/** The state after `event`; an unknown event changes nothing. */
export function reduce(state, event) {
  const change = CHANGES[event.type];
  return change ? change(state, event) : state;
}

/** The open dialog of models: nothing is known yet. */
function freshConnect() {
  return { endpoints: null, lists: {}, servers: null, editing: null, removing: null, problem: "", error: "", said: "" };
}

const CHANGES = {
  ...WRITTEN,
  ...REMEMBERED,
  "auth/needed": (s, e) => ({ ...s, auth: { token: null, isNeeded: true, problem: e.problem } }),
  "auth/given": (s, e) => ({ ...s, auth: { token: e.token, isNeeded: false, problem: "" } }),
  "list/reading": (s) => ({ ...s, list: { ...s.list, state: "reading" } }),
  "list/page": (s, e) => ({ ...s, list: withPage(s.list, e) }),
  "list/problem": (s, e) => ({ ...s, list: { ...s.list, state: "read", problem: e.problem } }),
  "list/row": rowChanged,
  "list/filter": (s, e) => ({ ...s, list: { ...s.list, filter: e.filter, rows: [], next: null, state: "unread", problem: "" } }),
  facets: (s, e) => ({ ...s, facets: e.facets }),
  search: (s, e) => ({ ...s, search: { ...s.search, ...e.change } }),
  open: (s, e) => opened(s, e),
  target: (s, e) => (e.session_id === s.open ? { ...s, target: { message_id: e.message_id } } : s),
  "session/housed": housed,
  "session/loaded": loaded,
  "session/earlier": earlier,
  "session/seen": (s) => ({ ...s, session: s.session && { ...s.session, unread: false } }),
  "session/problem": (s, e) => (e.session_id === s.open ? { ...s, problem: e.problem } : s),
  "turn/attached": attached,
  "turn/event": turnEvent,
  "turn/gone": (s, e) => (s.turn?.stream_id === e.stream_id ? { ...s, turn: null } : s),
  "turn/link": (s, e) => withTurn(s, e, { link: e.link }),
  "turn/stopping": (s, e) => withTurn(s, e, { isStopping: e.isStopping }),
  "panel/shown": (s, e) => ({ ...s, panel: e.panel }),
  "panel/closed": (s) => ({ ...s, panel: null }),
  commands: (s, e) => ({ ...s, commands: e.commands }),
  models: (s, e) => ({ ...s, models: e.models }),
  "connect/opened": (s) => ({ ...s, connect: freshConnect() }),
  "connect/closed": (s) => ({ ...s, connect: null }),
  "connect/changed": (s, e) => (s.connect ? { ...s, connect: { ...s.connect, ...e.change } } : s),
  "connect/listed": (s, e) => (s.connect ? { ...s, connect: { ...s.connect, lists: { ...s.connect.lists, [e.id]: e.found } } } : s),
  settings: (s, e) => ({ ...s, settings: e.settings }),
  preferences: (s, e) => ({ ...s, preferences: e.preferences }),
  link: (s, e) => ({ ...s, link: e.link }),
  "toast/shown": (s, e) => ({ ...s, toast: e.toast }),
  "toast/closed": (s) => ({ ...s, toast: null }),
  drawer: (s, e) => ({ ...s, drawer: e.isOpen }),
  labelling: (s, e) => ({ ...s, labelling: e.labelling }),
  renaming: (s, e) => ({ ...s, renaming: e.session_id }),
  completion: (s, e) => ({ ...s, completion: { ...s.completion, ...e.change } }),
};

function opened(state, { session_id, draft }) {
  const fresh = { session: null, target: null, problem: null, turn: null, usage: null, panel: null, drawer: false, isSendDue: false };
  // The chat that a new one follows: it has come to an end, and memory may learn from it.
  const left = session_id === null ? (state.open ?? state.left) : null;
  return { ...typed(state, ""), ...fresh, open: session_id, left, visit: state.visit + 1, draft };
}

/** The new chat got its session: what was sent and typed in it stays with it. */
function housed(state, { session, visit }) {
  const id = session.session_id;
  const outbox = state.outbox.map((entry) => (entry.visit === visit ? { ...entry, key: id } : entry));
  if (state.visit !== visit || state.open !== null) return { ...state, outbox };
  return { ...state, outbox, open: id, session: { messages: [], ...session }, draft: { ...state.draft, key: id } };
}

function loaded(state, { session }) {
  if (session.session_id !== state.open) return state;
  if (state.session && state.session.revision > session.revision) return state;
  const outbox = outboxBeside(state.outbox, session);
  const turn = turnBeside(state.turn, session);
  const { editing, draft } = editingBeside({ ...state, draft: draftBeside(state.draft, session) }, session);
  return { ...state, session, problem: null, outbox, turn, draft, editing };
}

function earlier(state, { session_id, messages }) {
  const first = state.session?.messages[0];
  if (session_id !== state.open || !first || messages.at(-1)?.id !== first.parent) return state;
  return { ...state, session: { ...state.session, messages: [...messages, ...state.session.messages] } };
}

function rowChanged(state, { session_id, row }) {
  const list = withRow(state.list, session_id, row);
  const isShown = row && state.session?.session_id === session_id && row.revision >= state.session.revision;
  const session = isShown ? { ...state.session, title: row.title } : state.session;
  return { ...state, list, session };
}

function attached(state, { session_id, stream_id }) {
  if (state.open !== session_id || state.turn?.stream_id === stream_id) return state;
  return { ...state, turn: newTurn(session_id, stream_id), usage: null };
}

function turnEvent(state, { stream_id, event }) {
  if (state.turn?.stream_id !== stream_id) return state;
  const turn = applyEvent(state.turn, event);
  if (turn === state.turn) return state;
  const outbox = outboxBesideTurn(state.outbox, turn);
  return { ...state, turn, outbox, usage: turn.terminal?.usage ?? turn.usage ?? state.usage };
}

function withTurn(state, { stream_id }, change) {
  return state.turn?.stream_id === stream_id ? { ...state, turn: { ...state.turn, ...change } } : state;
}

/** The turn beside a freshly read session: one whose end was not heard yet, or whose words are not stored. */
function turnBeside(turn, session) {
  const active = session.active_turn;
  const kept = turn && !isOver(turn, session) ? turn : null;
  if (!active || kept?.stream_id === active.stream_id) return kept;
  return newTurn(session.session_id, active.stream_id);
}

function isOver(turn, session) {
  if (!turn.terminal) return false;
  if (hasReply(session, turn)) return true;
  const isUnstored = !turn.terminal.message_ids?.length && turn.parts.length > 0;
  return !isUnstored && session.revision >= (turn.terminal.revision ?? Infinity);
}


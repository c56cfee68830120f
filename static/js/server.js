/** The one module that talks to the server. */

import { createParser } from "./sse.js";

const SILENCE_MS = 15_000;
const ANSWER_MS = 30_000;
const UPLOAD_MS = 300_000;

/** The server said no: `message` is a sentence for the user, `code` a word for programs. */
export class Refusal extends Error {
  constructor(status, answer, retryAfterS) {
    super(answer.error || `The server answered ${status}.`);
    this.status = status;
    this.code = answer.code || "";
    this.details = answer.details || {};
    this.retryAfterS = retryAfterS;
  }
}

/** The server could not be reached, or its answer was cut off. */
export class NetworkLost extends Error {
  constructor() {
    super("Talaria cannot be reached. Check that it is running.");
  }
}

/** `getToken` gives the access token, `onUnauthorized` hears that it was refused. */
export function createServer(getToken, onUnauthorized) {
  async function ask(method, path, body, signal) {
    const token = getToken();
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const isForm = body instanceof FormData;
    if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
    const options = { method, headers, body: isForm ? body : body && JSON.stringify(body), signal, cache: "no-store" };
    const response = await reached(fetch(path, options));
    if (response.ok) return response;
    const answer = await response.json().catch(() => ({}));
    const refusal = new Refusal(response.status, answer, Number(response.headers.get("Retry-After")) || 0);
    if (response.status === 401 && path !== "api/auth/login" && token === getToken()) onUnauthorized(refusal);
    throw refusal;
  }

  async function json(method, path, body, patienceMs = ANSWER_MS) {
    const response = await ask(method, path, body, AbortSignal.timeout(patienceMs));
    return { status: response.status, ...(await reached(response.json())) };
  }

  /** Read an event stream to its end; `onEvent` gets `{type, id, data}` with decoded data. */
  async function stream(path, { signal, onOpen, onEvent }) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await ask("GET", path, undefined, AbortSignal.any([signal, silence.signal]));
      onOpen();
      const parser = createParser(({ type, id, data }) => onEvent({ type, id, data: JSON.parse(data) }));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reached(reader.read()); !piece.done; piece = await reached(reader.read())) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        parser.feed(piece.value);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Keep a file; the answer is what a message is sent with. */
  function upload(session_id, file) {
    const form = new FormData();
    form.append("session_id", session_id);
    form.append("file", file, file.name);
    return json("POST", "api/upload", form, UPLOAD_MS);
  }

  /** The address of a file within this page. */
  async function file(id) {
    const response = await ask("GET", `api/blob/${encodeURIComponent(id)}`, undefined, AbortSignal.timeout(UPLOAD_MS));
    return URL.createObjectURL(await reached(response.blob()));
  }

  const get = (path, query) => json("GET", address(path, query));
  const post = (path, body) => json("POST", path, body);
  return {
    upload,
    file,
    login: (proof) => post("api/auth/login", proof),
    logout: () => post("api/auth/logout", {}),
    authStatus: () => get("api/auth/status"),
    settings: () => get("api/settings"),
    changeSettings: (values) => post("api/settings", values),
    trash: () => get("api/trash"),
    purge: () => post("api/trash/purge", {}),
    commands: () => get("api/commands"),
    models: () => get("api/models"),
    chooseDefault: (choice) => post("api/default-model", choice),
    endpoints: () => get("api/endpoints"),
    saveEndpoint: (fields) => post("api/endpoints/save", fields),
    deleteEndpoint: (id) => post("api/endpoints/delete", { id }),
    testEndpoint: (fields) => post("api/endpoints/test", fields),
    localServers: () => get("api/endpoints/local"),
    sessions: (before, filter) => get("api/sessions", { before, ...filter }),
    facets: () => get("api/sessions/facets"),
    search: (q, before) => get("api/sessions/search", { q, before }),
    session: (session_id, limit, before) => get("api/session", { session_id, limit, before, html: 1 }),
    newSession: (prev_session_id) => post("api/session/new", { prev_session_id }),
    updateSession: (changes) => post("api/session/update", changes),
    rename: (session_id, title) => post("api/session/rename", { session_id, title }),
    pin: (session_id, pinned) => post("api/session/pin", { session_id, pinned }),
    archive: (session_id, archived) => post("api/session/archive", { session_id, archived }),
    move: (session_id, project) => post("api/session/move", { session_id, project }),
    tag: (session_id, tags) => post("api/session/tags", { session_id, tags }),
    duplicate: (session_id) => post("api/session/duplicate", { session_id }),
    remove: (session_id) => post("api/session/delete", { session_id }),
    restore: (session_id) => post("api/session/restore", { session_id }),
    seen: (session_id, message_id) => post("api/session/seen", { session_id, message_id }),
    branch: (session_id, message_id) => post("api/session/branch", { session_id, message_id }),
    erase: (session_id, message_id) => post("api/session/erase", { session_id, message_id }),
    select: (session_id, message_id) => post("api/session/select", { session_id, message_id }),
    facts: (query) => get("api/memory", query),
    factsOf: (session_id) => get("api/memory/session", { session_id }),
    memoryStatus: () => get("api/memory/status"),
    addFact: (text) => post("api/memory/add", { text }),
    changeFact: (name, body) => post(`api/memory/${name}`, body),
    start: (body) => post("api/chat/start", body),
    unqueue: (session_id, turn_id) => post("api/chat/queue/remove", { session_id, turn_id }),
    resume: (session_id) => post("api/chat/queue/resume", { session_id }),
    cancel: (stream_id) => post("api/chat/cancel", { stream_id }),
    turnEvents: (stream_id, after_seq, reader) =>
      stream(address("api/chat/stream", { stream_id, after_seq, html: 1 }), reader),
    allEvents: (cursor, reader) => stream(address("api/events", { cursor }), reader),
  };
}

async function reached(promise) {
  try {
    return await promise;
  } catch {
    throw new NetworkLost();
  }
}

function address(path, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return known.length > 0 ? `${path}?${new URLSearchParams(known)}` : path;
}

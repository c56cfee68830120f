/** What a person does about models: choose one, connect a server, change or remove what is connected. */

import { whyNoDefault } from "./models.js";

const SENT = ["name", "base_url", "model", "api_key"];

export function createConnecting(store, server, sessions, sending, models) {
  let isSaving = false;
  const change = (changes) => store.dispatch({ type: "connect/changed", change: changes });

  async function open() {
    store.dispatch({ type: "connect/opened" });
    await Promise.all([read(), look()]);
  }

  function close() {
    store.dispatch({ type: "connect/closed" });
  }

  /** Read what is connected, and ask each endpoint which models it has. */
  async function read() {
    try {
      const { endpoints, problem } = await server.endpoints();
      change({ endpoints, problem: problem ?? "" });
      await Promise.all(endpoints.map(({ id }) => list(id)));
    } catch (failure) {
      change({ error: failure.message });
    }
  }

  async function list(id) {
    const found = await server.testEndpoint({ id }).catch((failure) => ({ models: [], error: failure.message }));
    store.dispatch({ type: "connect/listed", id, found });
  }

  /** Look for model servers that listen on this machine. */
  async function look() {
    change({ servers: null });
    const { servers } = await server.localServers().catch(() => ({ servers: [] }));
    change({ servers });
  }

  /** Let a model answer in the open chat; a new chat gets its session now. */
  async function use({ agent, endpoint, model }) {
    await attempt(async () => {
      const { open: shown, visit } = store.get();
      const sessionId = shown ?? (await sending.house(visit));
      await server.updateSession({ session_id: sessionId, agent, endpoint, model });
      await sessions.refresh();
      change({ said: `This chat uses ${model ?? agent} from now on.` });
    });
  }

  /** Let a model answer in every chat that has chosen none. */
  async function makeDefault({ agent, endpoint, model }) {
    await attempt(async () => {
      await server.chooseDefault({ agent, endpoint: agent === "embedded" ? null : endpoint, model });
      await models.read();
      await read();
      change({ said: `Chats that have chosen nothing use ${model ?? agent} from now on.` });
    });
  }

  /**
   * Keep an endpoint; true once it is kept, whatever becomes of the default. With `isDefault` chats that have
   * chosen nothing use it, unless the start has said what they use.
   */
  async function save(fields, isDefault) {
    if (isSaving) return false;
    isSaving = true;
    const becomesDefault = isDefault && !whyNoDefault(store.get().models, "openai");
    let isKept = false;
    await attempt(async () => {
      const { endpoint } = await server.saveEndpoint(fields);
      isKept = true;
      const hint = fields.id || becomesDefault ? "" : " “Use in this chat” lets it answer here.";
      change({ said: `${endpoint.name} is ${fields.id ? "changed" : "connected"}.${hint}`, editing: null });
      await settleDefault(endpoint, becomesDefault).finally(models.read);
    });
    isSaving = false;
    if (isKept) read();
    return isKept;
  }

  async function settleDefault({ id, model }, becomesDefault) {
    if (becomesDefault) await server.chooseDefault({ agent: "openai", endpoint: id, model });
    // Without a choice the next start would take the endpoint, which was just declined.
    else if (store.get().models?.default === "embedded") await server.chooseDefault({ agent: "embedded" });
  }

  /** Whether an endpoint answers, in a sentence, and its models. */
  async function test(fields) {
    try {
      const { ok, models: found, latency_ms, error } = await server.testEndpoint(fields);
      const sentence = ok ? `It answers in ${Math.round(latency_ms)} ms and lists ${count(found.length, "model")}.` : error;
      return { ok, sentence, models: found };
    } catch (failure) {
      return { ok: false, sentence: failure.message, models: [] };
    }
  }

  /** The first call asks, the second one removes; whatever else is done takes the question away. */
  async function remove(endpoint) {
    if (store.get().connect.removing !== endpoint.id) return change({ removing: endpoint.id });
    await attempt(async () => {
      await server.deleteEndpoint(endpoint.id);
      await models.read();
      change({ said: `${endpoint.name} is removed.`, editing: null });
      await read();
    });
  }

  async function attempt(work) {
    change({ error: "", said: "", removing: null });
    try {
      await work();
      return true;
    } catch (failure) {
      change({ error: failure.message });
      return false;
    }
  }

  return { open, close, look, use, makeDefault, save, test, remove, edit: (editing) => change({ editing, removing: null }) };
}

/** The fields of a form as the server takes them; of an edited endpoint only what was changed. */
export function fieldsOf(values, editing) {
  const fields = Object.fromEntries(SENT.map((name) => [name, values[name].trim()]));
  if (!editing) return fields;
  const changed = SENT.filter((name) => (name === "api_key" ? fields.api_key : fields[name] !== (editing[name] ?? "")));
  return { id: editing.id, ...Object.fromEntries(changed.map((name) => [name, fields[name]])) };
}

export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

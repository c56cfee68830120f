/** Which agents and models there are; asked again only while the default one cannot answer yet. */

const AGAIN_MS = 2000;

export function createModels(store, server) {
  let timer = null;

  async function read() {
    clearTimeout(timer);
    try {
      store.dispatch({ type: "models", models: await server.models() });
    } catch (failure) {
      if (failure.status) return;
    }
    const info = agentInfo(store.get().models, null);
    if (!info?.available) timer = setTimeout(read, AGAIN_MS);
  }

  return { read };
}

/** What is known of an agent; with no name, of the default one. */
export function agentInfo(models, name) {
  return models?.agents.find((agent) => agent.name === (name ?? models.default)) ?? null;
}

/** Why an agent cannot be made the default one, in a sentence; empty where it can. */
export function whyNoDefault(models, agent) {
  if (!models?.given || models.given === agent) return "";
  return `Chats that have chosen nothing use the agent ${models.given}: Talaria was started so, and it is changed there.`;
}

/** The model that answers in a session, by its label. */
export function modelLabel({ models, session, turn }) {
  const info = agentInfo(models, session?.agent);
  const place = session?.endpoint ?? info?.endpoints?.[0];
  const first = info?.models.find((model) => place === undefined || model.endpoint === place);
  const id = turn?.model ?? session?.model ?? first?.id;
  return info?.models.find((model) => model.id === id)?.label ?? id ?? "";
}

/** Follows the running turn of the open session, stops it, and asks again. */

import { follow } from "./follow.js";
import { newId } from "./format.js";

export function createTurns(store, server, sessions) {
  let followed = null;
  let follower = null;
  const asked = new Map();

  /** Read the stream of the turn that the state shows, and no other. */
  function keepFollowing() {
    store.listen(({ turn, auth }) => {
      const wanted = turn && !turn.terminal && auth.token ? turn.stream_id : null;
      if (wanted === followed) return;
      follower?.stop();
      followed = wanted;
      follower = wanted && read(wanted);
    });
  }

  function read(streamId) {
    return follow({
      connect: (reader) => server.turnEvents(streamId, store.get().turn?.seq ?? 0, reader),
      onEvent: ({ type, id, data }) => {
        const event = { type, data, seq: Number(id.slice(id.lastIndexOf(":") + 1)) };
        store.dispatch({ type: "turn/event", stream_id: streamId, event });
        if (store.get().turn?.terminal) ended();
      },
      onLink: (link) => store.dispatch({ type: "turn/link", stream_id: streamId, link }),
      onRefused: () => {
        store.dispatch({ type: "turn/gone", stream_id: streamId });
        sessions.refresh();
      },
    });
  }

  /** Show what was stored; an end that stored no words is told apart, since no message carries it. */
  function ended() {
    const { terminal } = store.get().turn;
    sessions.refresh();
    if (terminal.type !== "apperror" || terminal.message_ids?.length) return;
    const text = [terminal.message, terminal.hint].filter(Boolean).join(" ");
    store.dispatch({ type: "panel/shown", panel: { kind: "problem", title: "Failed", text } });
  }

  async function stop() {
    const { turn } = store.get();
    if (!turn || turn.terminal) return;
    const stopping = (isStopping) => store.dispatch({ type: "turn/stopping", stream_id: turn.stream_id, isStopping });
    stopping(true);
    try {
      await server.cancel(turn.stream_id);
    } catch (failure) {
      stopping(false);
      tell("Not stopped", failure);
    }
  }

  /** Ask again under a user message. */
  async function retry(messageId) {
    await again({ regenerate: true, message_id: messageId }, "Not asked again");
  }

  /** Ask with another wording of a user message. Whether that has begun. */
  async function edit(messageId, message) {
    return again({ edit: messageId, message }, "Not sent");
  }

  /** The same question after a lost answer is not asked twice. */
  async function again(body, problem) {
    const { open, session } = store.get();
    const question = `${open} ${session?.revision} ${JSON.stringify(body)}`;
    const client_id = asked.get(question) ?? newId();
    asked.set(question, client_id);
    try {
      const answer = await server.start({ session_id: open, client_id, ...body });
      store.dispatch({ type: "turn/attached", session_id: open, stream_id: answer.stream_id });
      await sessions.refresh();
      return true;
    } catch (failure) {
      tell(problem, failure);
      return false;
    }
  }

  /** Take a waiting text back; its words are gone from the queue when this ends. */
  async function unqueue(turnId) {
    await change("Not taken back", (open) => server.unqueue(open, turnId));
  }

  /** Send the texts that a stop or a failure has held back. */
  async function resume() {
    await change("Not sent", (open) => server.resume(open));
  }

  async function change(problem, ask) {
    try {
      await ask(store.get().open);
    } catch (failure) {
      tell(problem, failure);
    }
    await sessions.refresh();
  }

  function tell(title, failure) {
    store.dispatch({ type: "panel/shown", panel: { kind: "problem", title, text: failure.message } });
  }

  return { edit, keepFollowing, resume, retry, stop, unqueue };
}

/** Starts Talaria as the backend of a Node program, asks it one question, and stops it. No dependencies. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const RUN = fileURLToPath(new URL("../../run.py", import.meta.url));
const LISTENING = /^listening on (http:\/\/[^/]+)\/#token=(\S+)/;

/** A running Talaria: where it listens, its token, and how it is stopped. */
export async function start(flags = [], { python = "python3", run = RUN } = {}) {
  // The folder of run.py may be read-only: the environment is made in the state folder then.
  const words = [run, "--port", "0", "--no-browser", "--exit-with-parent", ...flags];
  const child = spawn(python, words, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  for await (const line of createInterface({ input: child.stdout })) {
    const [, base, token] = LISTENING.exec(line) ?? [];
    if (!base) continue;
    child.stdout.resume();
    return { base, token, stop: () => stop(child, ended) };
  }
  throw new Error(`Talaria did not start (exit code ${await ended}).`);
}

/** Talaria ends by itself when its standard input closes, also when this program is killed. */
function stop(child, ended) {
  child.stdin.end();
  return ended;
}

/** One call of the API; an error carries the sentence of the server. */
export async function call({ base, token }, path, body) {
  const response = await fetch(base + path, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Ask a question in a session and hand each piece of the reply to `onText`; the terminal event. */
export async function ask(talaria, sessionId, message, onText) {
  const started = await call(talaria, "/api/chat/start", { session_id: sessionId, message });
  const response = await fetch(`${talaria.base}/api/chat/stream?stream_id=${started.stream_id}`, {
    headers: { Authorization: `Bearer ${talaria.token}` },
  });
  for await (const { event, data } of events(response.body)) {
    if (event === "token") onText(data.text);
    if (["done", "cancel", "apperror"].includes(event)) return { event, ...data };
  }
  throw new Error("The stream ended before the reply did.");
}

/** The events of a stream. Talaria ends each line with LF and writes data as one line of JSON. */
async function* events(body) {
  const decoder = new TextDecoder();
  let waiting = "";
  for await (const bytes of body) {
    const frames = (waiting + decoder.decode(bytes, { stream: true })).split("\n\n");
    waiting = frames.pop();
    for (const frame of frames) {
      const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.data) yield { event: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [question = "Tell me a story about a lighthouse.", ...flags] = process.argv.slice(2);
  const talaria = await start(flags);
  try {
    const { session } = await call(talaria, "/api/session/new", { title: "From Node" });
    const end = await ask(talaria, session.session_id, question, (text) => process.stdout.write(text));
    process.stdout.write(`\n[${end.event}]\n`);
  } finally {
    process.exitCode = await talaria.stop();
  }
}

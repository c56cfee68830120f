/** Joins the parts of the page and starts them. */

import { createAnnouncer } from "./announcer.js";
import { NOT_TAKEN, enterTyped, logIn, logOut, refuse, watchOtherTabs } from "./auth.js";
import { createAttaching } from "./attaching.js";
import { createAttachView } from "./attachview.js";
import { createChatList } from "./chatlist.js";
import { createComposer } from "./composer.js";
import { createConfirm } from "./confirm.js";
import { createConnecting } from "./connecting.js";
import { keepDrafts } from "./drafts.js";
import { createEvents } from "./events.js";
import { createFacts } from "./facts.js";
import { createFiles } from "./files.js";
import { createFilter } from "./filter.js";
import { keepFocus } from "./focus.js";
import { handleKeys } from "./keys.js";
import { createLabelsDialog } from "./labelsdialog.js";
import { createLogin } from "./login.js";
import { createMemoryDialog } from "./memorydialog.js";
import { createMessages } from "./messages.js";
import { createModels } from "./models.js";
import { createModelsDialog } from "./modelsdialog.js";
import { createPanel } from "./panel.js";
import { createSearch } from "./search.js";
import { createSearchView } from "./searchview.js";
import { createSending } from "./sending.js";
import { createServer } from "./server.js";
import { createSessions } from "./sessions.js";
import { createSettings } from "./settings.js";
import { createSettingsDialog } from "./settingsdialog.js";
import { createSidebar } from "./sidebar.js";
import { createStatusLine } from "./statusline.js";
import { createStore } from "./store.js";
import { createToast } from "./toast.js";
import { createTranscript } from "./transcript.js";
import { createTurns } from "./turns.js";

const store = createStore();
const { dispatch } = store;
const server = createServer(
  () => store.get().auth.token,
  () => refuse(store, NOT_TAKEN),
);
const sessions = createSessions(store, server);
const chats = createChatList(store, server, sessions);
const turns = createTurns(store, server, sessions);
const sending = createSending(store, server, sessions);
const attaching = createAttaching(store, server, sending);
const search = createSearch(store, server, sessions);
const models = createModels(store, server);
const connecting = createConnecting(store, server, sessions, sending, models);
const facts = createFacts(store, server);
const confirm = createConfirm();
const settings = createSettings(store, server, sessions, { confirm });
const events = createEvents(store, server, sessions, chats, models, facts);
const messages = createMessages(store, server, sessions, turns, { confirm, focus: () => composer.focus() });

const act = {
  enter: async (typed) => begin(await enterTyped(store, server, typed)),
  logOut: () => logOut(server),
  newChat,
  drawer: (isOpen) => dispatch({ type: "drawer", isOpen }),
  search: search.type,
  moreResults: search.more,
  openHit: search.open,
  remove,
  takeBack: chats.takeBack,
  select: (messageId) => keepFocus(() => sessions.select(messageId)),
  resume: () => keepFocus(turns.resume),
  unqueue: (turnId) => keepFocus(() => turns.unqueue(turnId)),
  earlier: sessions.readEarlier,
  send: attaching.send,
  sendAsText,
  take: (text) => closing(() => dispatch({ type: "draft/changed", text })),
  stop: turns.stop,
  retry: (messageId) => keepFocus(() => turns.retry(messageId)),
  closePanel: () => closing(() => {}),
  copyLink: messages.copyLink,
  branch: messages.branch,
  erase: messages.erase,
  editMessage: messages.edit,
  editLast: messages.editLast,
  editing: messages.editing,
  changeFact: (name, body) => keepFocus(() => facts.act(name, body)),
  editFact: facts.editIn,
  closeToast: () => dispatch({ type: "toast/closed" }),
};

const composer = createComposer(store, act);
const searchView = createSearchView(act);
const views = [
  searchView.render,
  createLogin(act),
  createSidebar(act, chats),
  createFilter(chats),
  createLabelsDialog(chats),
  createTranscript(act, createFiles(server.file)),
  createAttachView(attaching),
  createPanel(act),
  createStatusLine(),
  createModelsDialog(connecting),
  createMemoryDialog(facts, act),
  createSettingsDialog(settings),
  createToast(act),
];

handleKeys({ new: newChat, search: searchView.focus, focus: composer.focus, settings: settings.open, escape });
// Typing and speaking do not wait for a frame: what was sent leaves the box before the next key.
store.listen(composer.render);
store.listen(createAnnouncer());
drawOnChange();
keepDrafts(store);
turns.keepFollowing();
facts.keepTurns();
watchOtherTabs(store, () => begin(true));
addEventListener("hashchange", arrived);
arrived();

/** Log in with what the address carries, then show what it names. */
async function arrived() {
  const isIn = store.get().auth.token !== null && !/^#(token|code)=/.test(location.hash);
  if (isIn) sessions.followAddress();
  else begin(await logIn(store, server));
}

async function begin(isIn) {
  if (!isIn) return;
  sessions.followAddress();
  if (!store.get().session) sessions.refresh();
  events.start();
  models.read();
  chats.readFacets();
  if (store.get().open === null) requestAnimationFrame(composer.focus);
  try {
    dispatch({ type: "commands", commands: (await server.commands()).commands });
  } catch {
    // Completion is a convenience; commands work without it.
  }
}

function newChat() {
  sessions.open(null);
  composer.focus();
}

/** The focus does not fall to nowhere with the row it was in. */
async function remove(sessionId) {
  await chats.remove(sessionId);
  requestAnimationFrame(() => document.activeElement === document.body && composer.focus());
}

function sendAsText(text) {
  sending.send({ text, asText: true });
  composer.focus();
}

function closing(change) {
  dispatch({ type: "panel/closed" });
  change();
  composer.focus();
}

/** Close the topmost thing that is open, else stop the reply; false when there was nothing to do. */
function escape() {
  const { drawer, panel, turn } = store.get();
  // A dialog closes itself.
  if (document.querySelector("dialog[open]")) return false;
  if (searchView.back()) return true;
  if (drawer) return act.drawer(false);
  if (panel) return act.closePanel();
  return turn && !turn.terminal ? turns.stop() : false;
}

/** One drawing for all changes of a moment; a hidden page has no frames. */
function drawOnChange() {
  let isDue = false;
  const draw = () => {
    isDue = false;
    for (const view of views) view(store.get());
  };
  store.listen(() => {
    if (isDue) return;
    isDue = true;
    if (document.hidden) setTimeout(draw);
    else requestAnimationFrame(draw);
  });
}

// The view that people search in: what is typed, which hits there are, and a look at one of them.

import { post } from "../api.js";
import { FILTERS, go, note, read } from "../address.js";
import { isEmpty, moment, onMoment } from "../changes.js";
import { element, visible } from "../dom.js";
import { showKeys } from "../footer.js";
import { nameOf, words } from "../words.js";
import { welcome } from "./adding.js";
import { Facets } from "./facets.js";
import { field as makeField } from "./field.js";
import { Hits } from "./hits.js";
import { Missing } from "./missing.js";
import { Preview } from "./preview.js";
import { Recall, remember } from "./recall.js";
import { progressOf } from "./stand.js";

const LIMIT = 30, LIMIT_WHILE_TYPING = 10; // more follow when typing pauses
const isWide = matchMedia("(min-width: 60rem)");
const PAUSE_MS = 250; // After that long, who types has paused.

const AGAIN_MS = 1500; // So often at most the list is asked for again while the index changes.

const missing = new Missing();
const recall = new Recall();
const start = element("div", { class: "start", hidden: true });
const reading = element("p", { class: "reading", role: "status", hidden: true });
const first = element("p", { class: "reading", role: "status" });
const advice = element("p", { class: "reading", role: "note", hidden: true });
const hits = new Hits({ onChoose: choose, onRemove: removeFilter, onSort: (sort) => go({ ...read(), sort, place: {} }), onMore: more, above: [start, reading, advice, recall.part], below: missing.part });
hits.bar.lastElementChild.before(recall.button);
const facets = new Facets({ onToggle: toggle, onClear: () => go({ ...read(), filters: {}, place: {} }) });
const preview = new Preview({ onBack: () => go({ ...read(), place: {} }), onGo: (place) => go({ ...read(), place }) });
const { field, input } = makeField({ onInput: typed, onSubmit: submitted });

let asked = ""; // what the hits are an answer to
let answered = { state: "", how: "hybrid" }; // the state of the index that they were drawn from, and how
let counted = null; // what the facets are about
let inFlight = null;
let waiting = null;
let pause = 0;
let again = 0;
let goesToFirst = false; // whether Enter was pressed in the field

export const search = {
  field,
  parts: () => [facets.part, hits.part, preview.part],
  show(state) {
    if (input.value !== state.q && document.activeElement !== input) input.value = state.q;
    else if (read().q !== input.value) input.value = state.q;
    hits.sortedBy(state.sort);
    recall.show(state);
    if (keyOf(state) !== asked) ask(state, "hybrid");
    else look(state);
    count(state);
    main(state.place.doc ? "looking" : "");
  },
  focus: () => input.focus(),
};

// Shows the document of the hit that was chosen, or of the first one where there is room beside the hits.
function look(state, mayDiffer = false) {
  const place = state.place.doc || !isWide.matches ? state.place : hits.first;
  hits.select(place);
  preview.show(place, state.q, mayDiffer);
}

const main = (mode) => document.body.classList.toggle("looking", Boolean(mode));
const keyOf = (state) => JSON.stringify([state.q, state.sort, state.filters]);

function typed(q) {
  const before = read();
  const state = { ...before, q, place: {} };
  if (before.view !== "search") go({ ...state, view: "search" });
  else note(state);
  preview.rest();
  ask(state, "keyword"); // before all else: what follows can be done while the server looks
  goesToFirst = false;
  clearTimeout(pause);
  pause = setTimeout(() => {
    pause = 0;
    ask(read(), "hybrid");
    recall.show(read());
    count(read());
  }, PAUSE_MS);
}

// Goes to the first hit. The list stays as it is, unless what is typed has no complete answer yet, or no good one: then
// the last word is taken for a whole one, which may be misspelt.
function submitted() {
  if (isEmpty()) return start.querySelector("button")?.focus();
  const state = read();
  clearTimeout(pause);
  pause = 0;
  remember(state);
  recall.show(state);
  const key = keyOf(state);
  const isComplete = key === asked && answered.how !== "keyword" && !waiting;
  if (isComplete && answered.isGood) return hits.move(1);
  goesToFirst = true;
  if (inFlight?.key !== key || inFlight.mode !== "hybrid") ask(state, isComplete ? "whole" : "hybrid");
  count(state);
}

// How each filter is given if it has one value, and how it is written in a query of which one of several must be met.
const GIVEN = {
  path: (path) => ({ path }),
  year: (year) => ({ since: year, until: year }),
  language: (language) => ({ language }),
  author: (author) => ({ author }),
  tag: (tag) => ({ tag }),
};
const WRITTEN = {
  path: (path) => `path:${quoted(/[\\/]$/.test(path) ? path : path + (path.includes("\\") ? "\\" : "/"))}`,
  year: (year) => `(since:${year} until:${year})`,
  language: (language) => `lang:${quoted(language)}`,
  author: (author) => `author:${quoted(author)}`,
  tag: (tag) => `tag:${quoted(tag)}`,
};
const quoted = (text) => `"${text.replaceAll('"', "")}"`;

// What the API is asked, for what stands in the address.
function request({ q, sort, filters }) {
  const given = { sort: sort || undefined };
  if (filters.type?.length) given.types = filters.type;
  const either = [];
  for (const name of Object.keys(GIVEN)) {
    const values = filters[name] ?? [];
    if (values.length === 1) Object.assign(given, GIVEN[name](values[0]));
    else if (values.length) either.push(`(${values.map(WRITTEN[name]).join(" OR ")})`);
  }
  given.query = [...either, q.trim() ? q : ""].filter(Boolean).join(" ") || " ";
  // Where nothing is looked for, the files that changed last are a good beginning.
  if (!q.trim() && !either.length && Object.keys(given).every((name) => ["query", "sort", "path"].includes(name))) given.since = "1970";
  return { ...given, results: false };
}

// The last word may be the beginning of one, whether or not somebody goes on typing: Enter and a reload change no list.
const HOW = {
  keyword: { mode: "keyword", limit: LIMIT_WHILE_TYPING, refresh: false, prefix: true },
  hybrid: { mode: "hybrid", limit: LIMIT, prefix: true },
  whole: { mode: "hybrid", limit: LIMIT },
};
const AGAIN = { refresh: false }; // what changed is in the index, which is why it is asked again

// One question at a time, and then the latest: a server that answers in the pace of the typing is never asked in vain.
// An answer by meaning takes longer: typing on aborts it.
async function ask(state, mode, isAgain = false) {
  if (isEmpty()) return showFirst(state.q.trim());
  waiting = { state, mode, isAgain };
  if (inFlight) {
    if (mode !== "keyword" || inFlight.mode !== "keyword") inFlight.abort();
    return;
  }
  while (waiting) {
    const { state: about, mode: how, isAgain: isRepeated } = waiting;
    waiting = null;
    const indexState = moment()?.state ?? "";
    const controller = new AbortController();
    inFlight = { mode: how, key: keyOf(about), abort: () => controller.abort() };
    const began = performance.now();
    hits.isBusy(true);
    try {
      const answer = await post("search", { ...request(about), ...HOW[how], ...(isRepeated ? AGAIN : {}) }, controller.signal);
      await hits.released;
      asked = keyOf(about);
      answered = { state: indexState, how, isGood: answer.hits.length > 0 && !answer.weak };
      hits.show(answer, { query: about.q, filters: about.filters, ms: performance.now() - began, isFirst: how === "keyword", isAgain: isRepeated });
      if (how === "keyword") hits.select(read().place);
      else look(read(), isRepeated);
      tellMissing(about, answer, how);
      if (goesToFirst && how !== "keyword") hits.move(1);
      if (how !== "keyword") goesToFirst = false;
    } catch (problem) {
      if (problem.name !== "AbortError" && !isRepeated) fail(problem);
    }
  }
  inFlight = null;
  hits.isBusy(false);
}

function fail(problem) {
  answered = { state: "", how: "hybrid" };
  hits.fail(problem);
  preview.show({}, "");
}

// The list is asked for again when the index has changed, but for while somebody types.
onMoment((now) => {
  if (!now) return;
  showStart(now);
  showReading(now.run);
  showAdvice(now.advice ?? "");
  if (now.state !== answered.state) preview.rest(); // the document may be gone
  if (now.state !== answered.state && !again) again = setTimeout(askAgain, AGAIN_MS);
});

function askAgain() {
  again = 0;
  const state = read();
  const isBusy = inFlight || pause || hits.isLonger || state.view !== "search";
  if (isBusy || isEmpty() || moment().state === answered.state) return;
  counted = null;
  count(state);
  ask(state, answered.how === "whole" ? "whole" : "hybrid", true);
}

// Where nothing is indexed, directories are offered.
function showStart({ directories }) {
  if (!directories && start.hidden) start.replaceChildren(first, welcome(begun));
  start.hidden = directories > 0;
  document.body.classList.toggle("nothing", !directories);
}

// Who searches in nothing is told what comes first.
function showFirst(q) {
  first.textContent = q && visible(words.welcome.first(q));
}

function begun(path) {
  start.replaceChildren(element("section", { class: "welcome", role: "status" }, element("h2", {}, words.welcome.begun(nameOf(path))), element("p", { class: "soft" }, words.welcome.next)));
  input.focus();
}

// What to know about the languages of the documents is said until somebody has read it.
const ADVICE = "dirindex.advice";

function showAdvice(text) {
  advice.hidden = !text || localStorage.getItem(ADVICE) === text;
  if (advice.hidden || advice.dataset.text === text) return;
  advice.dataset.text = text;
  const close = () => {
    localStorage.setItem(ADVICE, text);
    advice.hidden = true;
    input.focus();
  };
  advice.replaceChildren(element("span", {}, text.replace(/^./, (sign) => sign.toUpperCase())), element("button", { type: "button", class: "quiet", onclick: close }, words.hits.adviceRead));
}

function showReading(run) {
  reading.hidden = !run || !(run.phase in words.runs.soFar);
  if (reading.hidden) return;
  const { said } = progressOf(run);
  const where = run.directories.map(nameOf).join(", ");
  reading.replaceChildren(element("strong", {}, `${words.runs.phases[run.phase]}: ${where}`), said && element("span", {}, said), element("span", {}, words.runs.soFar[run.phase]));
}

function tellMissing({ q, filters }, answer, mode) {
  if (!q.trim() || (answer.hits.length && !answer.weak)) missing.hide();
  else if (mode !== "keyword") missing.show(q, filters);
}

// What follows the hits that are shown, or the weaker ones.
async function more(what) {
  const state = read();
  const key = keyOf(state);
  hits.isBusy(true);
  try {
    const given = { ...request(state), ...(HOW[answered.how] ?? HOW.hybrid), ...what };
    const answer = await post("search", given);
    await hits.released;
    if (keyOf(read()) !== key) return;
    if (what.cursor) hits.add(answer);
    else hits.show(answer, { query: state.q, filters: state.filters, ms: 0, isFirst: false });
    look(state);
  } catch (problem) {
    fail(problem);
  }
  hits.isBusy(false);
}

const FACET_OF = { type: "types", path: "directories", year: "years", language: "languages", author: "authors", tag: "tags" };

// Counts the files of each value; where values are chosen, those of the others beside them, which may be added.
async function count(state) {
  if (isEmpty()) return;
  const key = JSON.stringify([state.q.match(/-?\w+:\S+/g), state.filters]);
  if (key === counted) return;
  counted = key;
  const asking = (filters) => post("search", { ...request({ ...state, filters }), sort: undefined, facets: true });
  const chosen = FILTERS.filter((name) => state.filters[name]?.length);
  try {
    const [answer, ...others] = await Promise.all([asking(state.filters), ...chosen.map((name) => asking({ ...state.filters, [name]: [] }))]);
    answer.commits = answer.facets?.types?.commit ?? 0;
    chosen.forEach((name, i) => (answer.facets = { ...answer.facets, [FACET_OF[name]]: others[i].facets?.[FACET_OF[name]] ?? {} }));
    if (counted === key) facets.show(answer, state.filters);
  } catch {
    counted = null; // the search itself says what is wrong
  }
}

function toggle(name, value) {
  const state = read();
  const had = state.filters[name] ?? [];
  const values = had.includes(value) ? had.filter((one) => one !== value) : [...had, value];
  go({ ...state, filters: { ...state.filters, [name]: values }, place: {} });
}

// The button is gone with the filter, and its focus would be.
function removeFilter(name, value) {
  toggle(name, value);
  input.focus();
}

function choose(place, { isStep, isByKey }) {
  const state = { ...read(), place };
  if (isStep) {
    remember(state);
    go(state);
    if (isByKey) preview.focus();
  }
  else {
    note(state);
    search.show(state);
  }
}

// From a document to its hit, and from there to the field.
function leave(target) {
  const isInDocument = preview.part.contains(target);
  if (isInDocument && !isWide.matches) go({ ...read(), place: {} });
  if (!isInDocument || !hits.focusCurrent()) input.focus();
}

document.addEventListener("keydown", (event) => {
  const isWriting = event.target.matches?.("input, textarea, select");
  const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  if (!isShortcut && (event.ctrlKey || event.metaKey || event.altKey)) return;
  if (isShortcut || (event.key === "/" && !isWriting)) {
    input.focus();
    input.select();
  }
  else if (event.key === "?" && (!isWriting || (event.target === input && !input.value))) showKeys(); // no query begins with it
  else if (event.key === "Escape" && !isWriting) leave(event.target);
  else if (event.key === "ArrowDown" && (event.target === input || hits.has(event.target))) hits.move(1);
  else if (event.key === "ArrowUp" && hits.has(event.target)) hits.move(-1) || input.focus();
  else if (event.key === "n" && !isWriting) preview.step(1);
  else if (event.key === "p" && !isWriting) preview.step(-1);
  else return;
  event.preventDefault();
});

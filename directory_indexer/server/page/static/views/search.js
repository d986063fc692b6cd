// The view that people search in: what is typed, which hits there are, and a look at one of them.

import { post } from "../api.js";
import { go, note, read, SINGLE } from "../address.js";
import { element } from "../dom.js";
import { words } from "../words.js";
import { Facets } from "./facets.js";
import { field as makeField } from "./field.js";
import { Hits } from "./hits.js";
import { Missing } from "./missing.js";
import { Preview } from "./preview.js";

const LIMIT = 30;
const isWide = matchMedia("(min-width: 60rem)");
const PAUSE_MS = 250; // After that long, who types has paused.

const missing = new Missing();
const hits = new Hits({ onChoose: choose, onSort: (sort) => go({ ...read(), sort, place: {} }), onMore: more, below: missing.part });
const facets = new Facets({ onToggle: toggle, onClear: () => go({ ...read(), filters: {}, place: {} }) });
const preview = new Preview({ onBack: () => go({ ...read(), place: {} }), onGo: (place) => go({ ...read(), place }) });
const { field, input } = makeField({ onInput: typed, onSubmit: () => ask(read(), "hybrid") });

let asked = ""; // what the hits are an answer to
let counted = null; // what the facets are about
let inFlight = null;
let waiting = null;
let pause = 0;

export const search = {
  field,
  parts: () => [facets.part, hits.part, preview.part],
  show(state) {
    if (input.value !== state.q && document.activeElement !== input) input.value = state.q;
    else if (read().q !== input.value) input.value = state.q;
    hits.sortedBy(state.sort);
    if (keyOf(state) !== asked) ask(state, "hybrid");
    else hits.select(state.place);
    count(state);
    preview.show(state.place, state.q);
    main(state.place.doc ? "looking" : "");
  },
};

const main = (mode) => document.body.classList.toggle("looking", Boolean(mode));
const keyOf = (state) => JSON.stringify([state.q, state.sort, state.filters]);

function typed(q) {
  const before = read();
  const state = { ...before, q, place: {} };
  if (before.view !== "search") go({ ...state, view: "search" });
  else note(state);
  ask(state, "keyword"); // before all else: what follows can be done while the server looks
  preview.show({}, q);
  clearTimeout(pause);
  pause = setTimeout(() => {
    ask(read(), "paused");
    count(read());
  }, PAUSE_MS);
}

// What the API is asked, for what stands in the address.
function request({ q, sort, filters }) {
  const given = { query: q.trim() ? q : " ", sort: sort || undefined };
  const one = Object.fromEntries(SINGLE.map((name) => [name, filters[name]?.[0]]));
  if (filters.type?.length) given.types = filters.type;
  if (one.path) given.path = one.path;
  if (one.year) Object.assign(given, { since: one.year, until: one.year });
  for (const name of ["language", "author", "tag"]) if (one[name]) given[name] = one[name];
  // Where nothing is looked for, the files that changed last are a good beginning.
  if (!q.trim() && Object.keys(given).every((name) => ["query", "sort", "path"].includes(name))) given.since = "1970";
  return given;
}

const HOW = {
  keyword: { mode: "keyword", limit: LIMIT, refresh: false, prefix: true },
  paused: { mode: "hybrid", limit: LIMIT, prefix: true },
  hybrid: { mode: "hybrid", limit: LIMIT },
};

// One question at a time, and then the latest: a server that answers in the pace of the typing is never asked in vain.
// An answer by meaning takes longer: typing on aborts it.
async function ask(state, mode) {
  waiting = { state, mode };
  if (inFlight) {
    if (mode !== "keyword" || inFlight.mode !== "keyword") inFlight.abort();
    return;
  }
  while (waiting) {
    const { state: about, mode: how } = waiting;
    waiting = null;
    const controller = new AbortController();
    inFlight = { mode: how, abort: () => controller.abort() };
    const began = performance.now();
    hits.isBusy(true);
    try {
      const answer = await post("search", { ...request(about), ...HOW[how] }, controller.signal);
      await hits.released;
      asked = keyOf(about);
      hits.show(answer, { query: about.q, ms: performance.now() - began, isFirst: how === "keyword" });
      hits.select(read().place);
      tellMissing(about, answer, how);
    } catch (problem) {
      if (problem.name !== "AbortError") hits.fail(problem);
    }
  }
  inFlight = null;
  hits.isBusy(false);
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
    const given = { ...request(state), ...HOW.hybrid, ...what };
    const answer = await post("search", given);
    await hits.released;
    if (keyOf(read()) !== key) return;
    if (what.cursor) hits.add(answer);
    else hits.show(answer, { query: state.q, ms: 0, isFirst: false });
    hits.select(state.place);
  } catch (problem) {
    hits.fail(problem);
  }
  hits.isBusy(false);
}

async function count(state) {
  const key = JSON.stringify([state.q.match(/-?\w+:\S+/g), state.filters]);
  if (key === counted) return;
  counted = key;
  try {
    const answer = await post("search", { ...request(state), sort: undefined, facets: true });
    if (counted === key) facets.show(answer, state.filters);
  } catch {
    counted = null; // the search itself says what is wrong
  }
}

function toggle(name, value) {
  const state = read();
  const had = state.filters[name] ?? [];
  const is = had.includes(value);
  const values = name === "type" ? (is ? had.filter((one) => one !== value) : [...had, value]) : is ? [] : [value];
  go({ ...state, filters: { ...state.filters, [name]: values }, place: {} });
}

function choose(place, { isStep, isByKey }) {
  const state = { ...read(), place };
  if (isStep) {
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
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isWriting) input.focus();
  else if (event.key === "Escape" && !isWriting) leave(event.target);
  else if (event.key === "ArrowDown" && (event.target === input || hits.has(event.target))) hits.move(1);
  else if (event.key === "ArrowUp" && hits.has(event.target)) hits.move(-1) || input.focus();
  else if (event.key === "n" && !isWriting) preview.step(1);
  else if (event.key === "p" && !isWriting) preview.step(-1);
  else return;
  event.preventDefault();
});

// The list of hits, those of a file together; before them the files and directories that the query names.

import { go, read, written } from "../address.js";
import { element, newId, visible } from "../dom.js";
import { icon, iconOf, isMail } from "../kinds.js";
import { commitsOf, dateOf, directoryOf, nameOf, nameOfHit, sentence, words } from "../words.js";
import { excerptOf, placeOf, titleOf, whereabouts } from "./excerpt.js";
import { namesOf } from "./facets.js";
import { goToList } from "./leftout.js";

export class Hits {
  #onChoose;
  #onRemove;
  #links = [];
  #state = element("div", { class: "state", role: "status", "aria-live": "polite" });
  #notes = element("div", { class: "notes" });
  #missing = element("div", { class: "notes" }); // what an answer lacks, which concerns few of them
  #named = element("section", { class: "named", "aria-label": words.hits.byName });
  #list = element("ol", { class: "hits" });
  #sort = element("select", { "aria-label": words.sort.label });

  #more = element("div", { class: "more-hits" });
  #onMore;
  #hasScores = false;
  #isLonger = false; // more than one answer is shown
  #listed = new Set(); // the paths of the hits
  #unseen = []; // the hits of files below the window, which are not drawn yet
  #shown = "";
  #released = Promise.resolve(); // pending while the main button of the mouse is down on a hit

  constructor({ onChoose, onRemove, onSort, onMore, above, below }) {
    this.#onChoose = onChoose;
    this.#onRemove = onRemove;
    this.#onMore = onMore;
    for (const name of ["relevance", "date"]) {
      this.#sort.append(element("option", { value: name === "relevance" ? "" : name }, words.sort[name]));
    }
    this.#sort.addEventListener("change", () => onSort(this.#sort.value));
    this.bar = element("div", { class: "bar" }, this.#state, this.#sort);
    const bar = this.bar;
    for (const list of [this.#named, this.#list]) list.addEventListener("pointerdown", ({ button }) => button === 0 && this.#press());
    this.part = element("section", { class: "results", "aria-label": words.hits.label }, ...above, bar, this.#notes, this.#named, this.#list, this.#more, this.#missing, below);
  }

  sortedBy(sort) {
    this.#sort.value = sort;
  }

  isBusy(is) {
    this.part.setAttribute("aria-busy", String(is));
  }

  // Resolves once no hit is being pressed: one that goes away between the press and the release would lose its click.
  get released() {
    return this.#released;
  }

  #press() {
    const listening = new AbortController();
    this.#released = new Promise((resolve) => {
      const release = () => {
        listening.abort();
        setTimeout(resolve); // the click comes right after
      };
      for (const end of RELEASES) addEventListener(end, release, { signal: listening.signal });
    });
  }

  // Whether more was asked for than one answer holds, which another answer would take away.
  get isLonger() {
    return this.#isLonger;
  }

  get first() {
    return this.#links[0]?.place ?? {};
  }

  show(answer, { query, filters = {}, ms, isFirst, isAgain = false }) {
    const key = isFirst ? "" : JSON.stringify([query, answer.hits, answer.notes, answer.index.files > 0]);
    if (isAgain && key === this.#shown) return;
    this.#shown = key;
    this.#isLonger = false;
    const held = this.#links.find(({ link }) => link === document.activeElement)?.place;
    this.#links = [];
    this.#hasScores = Boolean(query.trim());
    this.#listed = new Set(answer.hits.map(({ path }) => path));
    const named = answer.hits.filter((hit) => hit.matched), others = answer.hits.filter((hit) => !hit.matched);
    this.#named.replaceChildren(...this.#byName(named, answer.named ?? named.length, Boolean(others.length)));
    const files = groups(others), nAtOnce = isFirst ? this.#nInView() : files.length;
    this.#list.replaceChildren(...files.slice(0, nAtOnce).map((hits) => this.#file(hits)));
    this.#drawNext(files.slice(nAtOnce));
    if (held) (this.#links.find(({ place }) => isSame(place, held)) ?? this.#links[0])?.link.focus();
    this.#sort.hidden = !this.#hasScores || !answer.hits.length; // the files that changed last have an order of their own
    this.#state.replaceChildren(...said(answer, { query, chosen: this.#chosen(filters), ms, isFirst }));
    this.#notes.replaceChildren(...notes(answer));
    this.#missing.replaceChildren(...lacks(answer));
    this.#offer(answer);
  }

  // The filters that the hits meet; each is a button that removes it.
  #chosen(filters) {
    const values = Object.entries(filters).flatMap(([name, those]) => those.map((value) => [name, value]));
    const chip = ([name, value]) => element("button", { type: "button", class: "chip", "aria-label": words.filters.remove(words.filters.names[name], value), onclick: () => this.#onRemove(name, value) }, `${name === "path" ? namesOf([value]).get(value) : value} ×`);
    return values.length ? [element("span", {}, words.filters.within), ...values.map(chip)] : [];
  }

  #nInView = () => Math.max(Math.ceil((innerHeight - HEAD_PX + Math.max(this.part.scrollTop, this.part.parentElement?.scrollTop ?? 0)) / LEAST_PX), 1);

  // While somebody types, what is in view is painted first: the rest takes twice as long, and often nobody gets to see it.
  #drawNext(files) {
    this.#unseen = files;
    if (files.length) requestAnimationFrame(() => setTimeout(() => this.#unseen === files && this.#drawRest()));
  }

  #drawRest() {
    this.#list.append(...this.#unseen.splice(0).map((hits) => this.#file(hits)));
  }

  // Adds what comes next, or behind the best.
  add(answer) {
    this.#isLonger = true;
    this.#drawRest();
    for (const { path } of answer.hits) this.#listed.add(path);
    this.#list.append(...groups(answer.hits).map((hits) => this.#file(hits))); // the last of them may be names
    this.#offer(answer);
  }

  #offer({ next_cursor: cursor, weaker_left_out: hasWeaker }) {
    const label = cursor ? words.hits.more : hasWeaker ? words.hits.weaker : "";
    const button = () => element("button", { type: "button", class: "tool", onclick: () => this.#onMore(cursor ? { cursor } : { all: true }) }, label);
    this.#more.replaceChildren(...(label ? [button()] : []));
  }

  fail({ message, status }) {
    this.#links = [];
    this.#unseen = [];
    this.#named.replaceChildren();
    this.#list.replaceChildren();
    this.#notes.replaceChildren();
    this.#missing.replaceChildren();
    this.#more.replaceChildren();
    this.#sort.hidden = true;
    this.#shown = "";
    const isNothingThere = status === 404; // a run has begun, or nothing was ever indexed: what stands above says so
    this.#state.replaceChildren(...(isNothingThere ? [] : [element("span", { class: "problem" }, message)]));
  }

  has(target) {
    return this.#links.some(({ link }) => link === target);
  }

  // Goes back to the hit that is looked at; tells whether there is one.
  focusCurrent() {
    const current = this.#links.find(({ link }) => link.hasAttribute("aria-current"));
    current?.link.focus();
    return Boolean(current);
  }

  // Goes to the next hit, or the one before; tells whether there is one.
  move(step) {
    this.#drawRest();
    const at = this.#links.findIndex(({ link }) => link === document.activeElement);
    const next = this.#links[at + step];
    next?.link.focus();
    return Boolean(next);
  }

  select(place) {
    for (const { link, place: own } of this.#links) {
      if (isSame(own, place)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  // The files and directories that the query names; so many of them that texts stay in view.
  #byName(named, nAll, hasOthers) {
    if (!named.length) return [];
    const rest = element("p", { class: "more" });
    const list = element("ol", { class: "hits" }, ...named.slice(0, FEW_NAMES).map((hit) => this.#file([hit])));
    const all = () => {
      list.append(...named.slice(FEW_NAMES).map((hit) => this.#file([hit])));
      rest.replaceChildren(nAll > named.length ? words.hits.moreNames(nAll - named.length) : "");
    };
    if (named.length > FEW_NAMES) rest.append(element("button", { type: "button", class: "quiet", onclick: all }, words.hits.moreNames(nAll - FEW_NAMES)));
    return [element("h2", {}, words.hits.byName), list, rest, hasOthers && element("h2", {}, words.hits.inTexts)].filter(Boolean);
  }

  #file(hits) {
    const [first] = hits;
    if (!first.doc_id) return nameAlone(first);
    const name = nameOfHit(first);
    const id = newId("file");
    const state = first.on_disk && element("span", { class: "warning" }, words.hits[first.on_disk] ?? first.on_disk);
    const more = Math.max(...hits.map(({ more_in_file: n }) => n ?? 0));
    const passages = element("ol", { class: "passages", "aria-labelledby": id }, ...hits.map((hit) => this.#hit(hit, name)));
    const copies = first.also_in && alsoIn(first.also_in, this.#listed);
    const lack = first.no_text && element("p", { class: "soft" }, words.hits.noText(first.no_text, iconOf(first.kind)));
    const rest = more > 0 && moreInFile(first.path, more);
    return element("li", {}, headOf(first, titleOf(first), id), state, lack, passages, copies, rest);
  }

  #hit(hit, name) {
    const place = placeOf(hit);
    const { heading, part } = excerptOf(hit);
    const isNameAlone = hit.matched && !hit.marks.length && !heading;
    const where = [
      heading && element("span", { class: "heading" }, ...heading),
      element("span", { class: "line", title: this.#hasScores ? words.hits.score(hit.score.toFixed(2)) : null }, whereabouts(hit)),
    ];
    const link = element(
      "a",
      { class: isNameAlone ? "hit name-alone" : "hit", href: written({ ...read(), place }) },
      !isNameAlone && element("span", { class: heading ? "where" : "where at-side" }, ...where),
      (hit.marks.length || !hit.matched) && part,
    );
    link.setAttribute("aria-label", visible([name, hit.heading, whereabouts(hit)].filter(Boolean).join(", ")));
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#onChoose(place, { isStep: true, isByKey: event.detail === 0 });
    });
    link.addEventListener("focus", () => {
      if (link.matches(":focus-visible") && isWide.matches) this.#onChoose(place, { isStep: false });
    });
    this.#links.push({ link, place });
    return element("li", {}, link);
  }
}

// The name of a file, with the sign of its kind, where it lies and of when it is.
function headOf(hit, title, id) {
  return element(
    "div",
    { class: "file" },
    icon(iconOf(hit.kind), hit.kind),
    element("h3", { id, title: hit.path }, ...title),
    element("span", { class: "directory", title: hit.path }, senderOf(hit) ?? element("bdi", {}, ...parts(directory(hit)))),
    hit.date && element("time", { datetime: hit.date }, dateOf(hit.date)),
  );
}

// Who sent a message, as far as that has a name.
const senderOf = ({ kind, metadata }) => (isMail(kind) && metadata?.from?.[0]?.replace(/\s*<[^>]*>$/, "").replaceAll('"', "")) || null;

// Other files with the very passage that are no hits themselves, named when somebody asks.
function alsoIn({ files, paths: all }, listed) {
  const paths = all.filter((path) => !listed.has(path)), rest = files - all.length;
  if (!paths.length && !rest) return null;
  return element(
    "details",
    { class: "also-in" },
    element("summary", {}, words.hits.alsoIn(paths.length + rest)),
    element("ul", {}, ...paths.map((path) => element("li", {}, path)), rest > 0 && element("li", {}, words.hits.moreCopies(rest))),
  );
}

// The further matches in a file, which a search in it alone shows.
function moreInFile(path, n) {
  const label = words.hits.moreInFile(n), isAlone = read().filters.path.includes(path);
  const show = () => go({ ...read(), filters: { ...read().filters, path: [path] }, place: {} });
  return element("p", { class: "more" }, isAlone ? label : element("button", { type: "button", class: "quiet", onclick: show }, label));
}

const FEW_NAMES = 5;
const HEAD_PX = 280; // what is above the list
const LEAST_PX = 66; // of each file

// A file without text, which cannot be looked at here, or a directory, with what lies in it.
function nameAlone(hit) {
  const name = nameOf(hit.path);
  const isDirectory = hit.kind === "directory";
  const show = () => go({ ...read(), q: "", filters: { path: [hit.path] }, place: {} });
  return element(
    "li",
    {},
    headOf(hit, [name], newId("file")),
    element("p", { class: "soft" }, isDirectory ? hit.excerpt.trim().split("\n").join(", ") : words.hits.noText(hit.no_text, iconOf(hit.kind))),
    isDirectory && element("button", { type: "button", class: "quiet", onclick: show }, words.hits.searchIn(name)),
  );
}

const isWide = matchMedia("(min-width: 60rem)");

const RELEASES = ["pointerup", "pointercancel", "contextmenu", "blur"]; // a menu or another window may keep the first

const isSame = (one, other) => one.doc === other.doc && one.line === other.line && (one.page || "") === (other.page || "");

function groups(hits) {
  const byPath = new Map();
  for (const hit of hits) byPath.set(hit.path, [...(byPath.get(hit.path) ?? []), hit]);
  return [...byPath.values()];
}

// The last directories around a file; of a commit its repository.
function directory({ path, kind }) {
  const parts = directoryOf(path).split(/[\\/]/);
  if (kind === "commit") return commitsOf(path) ?? parts.join("/");
  return parts.length > KEPT_DIRECTORIES ? `…/${parts.slice(-KEPT_DIRECTORIES).join("/")}` : parts.join("/");
}

const KEPT_DIRECTORIES = 2;
const parts = (path) => path.split(/(?<=[\\/])/).map((part) => element("span", {}, part));

function said(answer, { query, chosen, ms, isFirst }) {
  const n = answer.hits.length;
  if (!answer.index.directories) return [];
  if (!n) {
    const [title, advice] = words.hits[answer.index.running ? "noneYet" : "none"];
    return [element("h2", {}, title), ...chosen, element("span", {}, advice)];
  }
  const what = query.trim() ? words.hits.some(n, answer.truncated) : words.hits.newest;
  const how = !query.trim() ? "" : isFirst ? words.hits.byWordsFirst : words.hits.mode[answer.mode];
  return [
    element("h2", {}, what),
    ...chosen,
    element("span", { class: "how" }, [how, words.hits.took(Math.round(ms))].filter(Boolean).join(" · ")),
  ];
}

// Notes on the query stand above the hits; what no answer holds stands below them, and leads to the list of it. The page
// has other ways to show weaker hits and what arrives.
const ON_THE_QUERY = ["answer", "correction", "changes"], OF_THE_INDEX = ["missing", "unfinished"];

const remarks = (answer, kinds) => (answer.remarks ?? []).filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);

function notes(answer) {
  const onQuery = remarks(answer, ON_THE_QUERY);
  const said = answer.weak && answer.hits.length ? [words.hits.weak, ...onQuery] : onQuery;
  return said.map((note) => element("p", {}, sentence(note)));
}

function lacks(answer) {
  if (answer.weak || !answer.hits.length) return []; // what no search finds is listed there
  return [...remarks(answer, OF_THE_INDEX).map(toTheList), ...remarks(answer, ["embedding"]).map((note) => element("p", {}, sentence(note)))];
}

function toTheList(note) {
  return element("p", {}, element("button", { type: "button", class: "quiet", onclick: () => goToList(read().filters.path) }, sentence(note)));
}

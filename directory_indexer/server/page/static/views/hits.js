// The list of hits, those of a file together; before them the files and directories that the query names.

import { element, marked, newId, visible } from "../dom.js";
import { go, written, read } from "../address.js";
import { count, dateOf, nameOf, nameOfHit, words } from "../words.js";

export class Hits {
  #onChoose;
  #links = [];
  #state = element("div", { class: "state", role: "status", "aria-live": "polite" });
  #notes = element("div", { class: "notes" });
  #named = element("section", { class: "named", "aria-label": words.hits.byName });
  #list = element("ol", { class: "hits" });
  #sort = element("select", { "aria-label": words.sort.label });

  #more = element("div", { class: "more-hits" });
  #onMore;
  #hasScores = false;
  #released = Promise.resolve(); // pending while the main button of the mouse is down on a hit

  constructor({ onChoose, onSort, onMore, below }) {
    this.#onChoose = onChoose;
    this.#onMore = onMore;
    for (const name of ["relevance", "date"]) {
      this.#sort.append(element("option", { value: name === "relevance" ? "" : name }, words.sort[name]));
    }
    this.#sort.addEventListener("change", () => onSort(this.#sort.value));
    const bar = element("div", { class: "bar" }, this.#state, this.#sort);
    for (const list of [this.#named, this.#list]) list.addEventListener("pointerdown", ({ button }) => button === 0 && this.#press());
    this.part = element("section", { class: "results", "aria-label": words.hits.label }, bar, this.#notes, this.#named, this.#list, this.#more, below);
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

  show(answer, { query, ms, isFirst }) {
    const held = this.#links.find(({ link }) => link === document.activeElement)?.place;
    this.#links = [];
    this.#hasScores = Boolean(query.trim());
    const named = answer.hits.filter((hit) => hit.matched), others = answer.hits.filter((hit) => !hit.matched);
    this.#named.replaceChildren(...this.#byName(named, answer.named ?? named.length, Boolean(others.length)));
    this.#list.replaceChildren(...groups(others).map((hits) => this.#file(hits)));
    if (held) (this.#links.find(({ place }) => isSame(place, held)) ?? this.#links[0])?.link.focus();
    this.#sort.hidden = !this.#hasScores; // the files that changed last have an order of their own
    this.#state.replaceChildren(...said(answer, query, ms, isFirst));
    this.#notes.replaceChildren(...notes(answer));
    this.#offer(answer);
  }

  // Adds what comes next, or behind the best.
  add(answer) {
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
    this.#named.replaceChildren();
    this.#list.replaceChildren();
    this.#notes.replaceChildren();
    this.#more.replaceChildren();
    this.#sort.hidden = true;
    const isNothingThere = status === 404;
    const said = isNothingThere ? element("h2", {}, words.hits.nothingIndexed) : element("span", { class: "problem" }, message);
    this.#state.replaceChildren(said, ...(isNothingThere ? [adding()] : []));
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
    const more = hits.at(-1).more_in_file;
    const heading = element(
      "div",
      { class: "file" },
      element("h3", { id, title: first.path }, name),
      element("span", { class: "directory", title: first.path }, directory(first.path)),
      first.date && element("time", { datetime: first.date }, dateOf(first.date)),
    );
    const passages = element("ol", { class: "passages", "aria-labelledby": id }, ...hits.map((hit) => this.#hit(hit, name)));
    const rest = more > 0 && element("p", { class: "more" }, words.hits.moreInFile(more));
    return element("li", {}, heading, state, passages, rest);
  }

  #hit(hit, name) {
    const place = { doc: hit.doc_id, line: String(hit.line), page: hit.page ? String(hit.page) : "" };
    const link = element(
      "a",
      { class: "hit", href: written({ ...read(), place }) },
      element(
        "span",
        { class: "where" },
        hit.heading && element("span", { class: "heading" }, hit.heading),
        element("span", { class: "line" }, whereabouts(hit)),
        this.#hasScores && element("span", { class: "score", title: words.hits.score(hit.score.toFixed(2)) }, hit.score.toFixed(2)),
      ),
      (hit.marks.length || !hit.matched) && element("span", { class: "excerpt", "data-kind": hit.kind }, ...marked(hit.excerpt, hit.marks)),
    );
    link.setAttribute("aria-label", visible(`${name}, ${hit.heading ?? ""} ${whereabouts(hit)}`));
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

const FEW_NAMES = 5;

// A file without text, which cannot be looked at here, or a directory, with what lies in it.
function nameAlone(hit) {
  const name = nameOf(hit.path);
  const isDirectory = hit.kind === "directory";
  const show = () => go({ ...read(), q: "", filters: { path: [hit.path] }, place: {} });
  return element(
    "li",
    {},
    element(
      "div",
      { class: "file" },
      element("h3", { title: hit.path }, name),
      element("span", { class: "directory", title: hit.path }, directory(hit.path)),
      hit.date && element("time", { datetime: hit.date }, dateOf(hit.date)),
    ),
    element("p", { class: "soft" }, isDirectory ? `${words.hits.directory}: ${hit.excerpt.trim().split("\n").join(", ")}` : words.hits.noText(hit.no_text ?? "no text")),
    isDirectory && element("button", { type: "button", class: "quiet", onclick: show }, words.hits.searchIn(name)),
  );
}

const isWide = matchMedia("(min-width: 60rem)");

const RELEASES = ["pointerup", "pointercancel", "contextmenu", "blur"]; // a menu or another window may keep the first

const isSame = (one, other) => one.doc === other.doc && one.line === other.line && (one.page || "") === (other.page || "");

const NAMED_IN_A_TERMINAL = /; dirindex status -v names them$/;

function groups(hits) {
  const byPath = new Map();
  for (const hit of hits) byPath.set(hit.path, [...(byPath.get(hit.path) ?? []), hit]);
  return [...byPath.values()];
}

function directory(path) {
  const parts = path.split(/[\\/]/).slice(0, -1);
  return parts.length > 5 ? `…/${parts.slice(-4).join("/")}/` : `${parts.join("/")}/`;
}

function whereabouts({ page, pages, line }) {
  if (pages) return words.hits.pages(pages[0], pages.at(-1));
  return page ? words.hits.page(page) : words.hits.line(line);
}

function said(answer, query, ms, isFirst) {
  const n = answer.hits.length;
  if (!answer.index.files) return [element("h2", {}, words.hits.nothingIndexed), adding()];
  if (!n) return [element("h2", {}, words.hits.none), words.hits.noneAdvice];
  const what = query.trim() ? words.hits.some(n, answer.truncated) : words.hits.newest;
  const how = !query.trim() ? "" : isFirst ? words.hits.byWordsFirst : words.hits.mode[answer.mode];
  return [
    element("h2", {}, what),
    element("span", { class: "how" }, [how, words.hits.took(Math.round(ms))].filter(Boolean).join(" · ")),
  ];
}

function adding() {
  return element("button", { type: "button", class: "quiet", onclick: () => go({ view: "glance" }) }, words.hits.nothingIndexedAdvice);
}

function notes(answer) {
  const found = [];
  if (answer.weak && answer.hits.length) found.push(words.hits.weak);
  found.push(...(answer.notes ?? []).filter((note) => !answer.weaker_left_out || !note.includes("much weaker")));
  return found.map((note) => element("p", {}, note.replace(NAMED_IN_A_TERMINAL, "")));
}

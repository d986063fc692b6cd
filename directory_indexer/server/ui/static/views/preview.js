// A look at a document at the place of a hit: what it is, what can be done with it, and the matches one after the other.

import { get, marked } from "../api.js";
import { element } from "../dom.js";
import { hasLines, iconOf, pageOf } from "../kinds.js";
import { count, dateOf, plain, words } from "../words.js";
import { Nearby } from "./nearby.js";
import { actions } from "./preview_actions.js";
import { lines, prose } from "./preview_text.js";
import { lineOf, markdown } from "./preview_markdown.js";
import { message, slides, table } from "./preview_forms.js";
import { Pages } from "./preview_pages.js";

const FORMS = { lines, prose, markdown, message, slides, table };

export class Preview {
  #asked = { place: {}, query: "" }; // the place that was asked for last
  #asText = false; // whether the text was chosen where there are pages, too
  #found = null; // what is shown, as the server told it
  #pages = null; // its pages, where they are drawn
  #stops = []; // the matches that can be gone to
  #at = -1;
  #place = {};
  #query = "";
  #onGo;
  #nearby;
  #head = element("div", { class: "head" });
  #body = element("div", { class: "document", tabindex: "0", role: "group", "aria-label": words.preview.label });
  #counter = element("span", { class: "counter", role: "status" });
  #back;

  constructor({ onBack, onGo }) {
    this.#onGo = onGo;
    this.#nearby = new Nearby(onGo);
    this.#back = element("button", { type: "button", class: "back", onclick: onBack }, words.preview.back);
    this.part = element("section", { class: "preview", "aria-label": words.preview.label }, this.#head, this.#body, this.#nearby.part);
    this.#empty();
  }

  // Shows a document at a place. With `mayDiffer`, the index has changed: what is shown is asked for again, and stays in
  // place.
  async show(place, query, mayDiffer = false) {
    const isReload = mayDiffer && place.doc && place.doc === this.#asked.place.doc && query === this.#asked.query;
    if (isReload) return this.#reload();
    if (isEqual({ place, query }, this.#asked)) return this.#tellNearby();
    this.#asked = { place, query };
    if (!place.doc) return this.#leave();
    const isSame = !mayDiffer && this.#found?.doc_id === place.doc && this.#query === query && this.#holds(Number(place.line) || 1);
    if (isSame) return this.#goTo(place);
    const asked = this.#asked;
    this.#body.setAttribute("aria-busy", "true");
    try {
      const found = await this.#ask();
      if (this.#asked === asked) this.#show(found, place, query);
    } catch (problem) {
      if (this.#asked === asked) this.#fail(problem.message);
    } finally {
      if (this.#asked === asked) this.#body.removeAttribute("aria-busy");
    }
  }

  // A document that is gone is shown no more; after any other failure it stays, until the index changes again.
  async #reload() {
    const asked = this.#asked, { place, query } = asked;
    try {
      const found = await this.#ask();
      if (this.#asked !== asked) return;
      if (isEqual(found, this.#found)) this.#tellNearby();
      else if (this.#found?.doc_id === place.doc) this.#showInPlace(found, place, query);
      else this.#show(found, place, query);
    } catch (problem) {
      if (this.#asked === asked && (problem.status === 404 || !this.#found)) this.#fail(problem.message);
    }
  }

  #ask() {
    const { place, query } = this.#asked;
    return get(`documents/${place.doc}/preview`, { query: marked(query), line: Number(place.line) || 1 });
  }

  // Goes to the next match, or the one before, also where that is in a part that is not shown yet.
  async step(by) {
    if (!this.#found) return;
    if (this.#pages) return this.#tellOf(this.#pages, this.#pages.step(by));
    const next = this.#at + by;
    if (this.#stops[next]) return this.#select(next);
    const { start_line, end_line, matching_lines } = this.#found;
    const line = by > 0 ? matching_lines.find((one) => one > end_line) : matching_lines.findLast((one) => one < start_line);
    if (line) await this.show({ ...this.#place, line: String(line), page: "" }, this.#query);
    else if (this.#stops.length) this.#select(by > 0 ? 0 : this.#stops.length - 1);
  }

  focus() {
    this.#body.focus();
  }

  // Leaves the server to who types.
  rest() {
    this.#nearby.stop();
  }

  #holds(line) {
    return line >= this.#found.start_line && line <= this.#found.end_line;
  }

  // Shows nothing any more; where nothing was shown, nothing is touched, for this comes with every key.
  #leave() {
    this.#body.removeAttribute("aria-busy");
    if (this.#found || this.#head.childElementCount) this.#empty();
  }

  #empty() {
    this.#found = this.#pages = null;
    this.#nearby.show();
    this.#head.replaceChildren();
    this.#body.replaceChildren(element("p", { class: "empty" }, words.preview.empty));
  }

  #fail(message) {
    this.#found = this.#pages = null;
    this.#nearby.show();
    this.#back.replaceChildren(words.preview.back);
    this.#head.replaceChildren(this.#back);
    this.#body.replaceChildren(element("p", { class: "problem empty" }, message));
  }

  // Shows another version of a document, scrolled as the one before.
  #showInPlace(found, place, query) {
    const scrolled = [this.#body, this.part.parentElement].filter(Boolean).map((one) => [one, one.scrollTop]);
    const at = this.#at, nStops = this.#stops.length;
    this.#show(found, this.#pages ? { ...place, page: String(this.#pages.page) } : place, query);
    if (!this.#pages && at >= 0 && this.#stops.length === nStops) this.#select(at);
    for (const [one, top] of scrolled) one.scrollTop = top;
  }

  #show(found, place, query) {
    if (this.#found?.doc_id !== found.doc_id) this.#asText = false;
    this.#found = found;
    this.#query = query;
    this.#body.scrollTop = 0;
    this.#counter.textContent = "";
    this.#head.replaceChildren(...this.#about(found));
    this.#draw(found, place, found.is_drawn && !(this.#asText && hasViews(found)));
  }

  #draw(found, place, asPages) {
    this.#pages?.stop();
    this.#pages = asPages ? new Pages(found, this.#query, this.#body) : null;
    const form = found.form === "pages" ? "prose" : found.form;
    this.#body.className = `document form-${asPages ? "pages" : form}`;
    const part = this.#pages ? this.#pages.part : (FORMS[form] ?? lines)(found, this.#onGo);
    this.#body.replaceChildren(...[this.#edge(found.start_line - 1, words.preview.earlier), part, this.#edge(found.end_line + 1, words.preview.later)].filter(Boolean));
    this.#stops = [...this.#body.querySelectorAll("mark")];
    this.#goTo(place);
  }

  // What leads on where a document is shown in part.
  #edge(line, label) {
    if (this.#pages || line < 1 || line > this.#found.total_lines) return null;
    return element("button", { type: "button", class: "edge", onclick: () => this.show({ ...this.#place, line: String(line), page: "" }, this.#query) }, label);
  }

  #tellNearby() {
    this.#nearby.show(this.#found?.text ? this.#found.doc_id : "");
  }

  #goTo(place) {
    this.#place = place;
    this.#tellNearby();
    const line = Number(place.line) || (place.heading ? lineOf(this.#body, place.heading) : 1);
    if (this.#pages) return this.#tellOf(this.#pages, this.#pages.goTo(Number(place.page) || this.#pages.pageOf(line)));
    for (const one of this.#body.querySelectorAll(".wanted")) one.classList.remove("wanted");
    const wanted = [...this.#body.querySelectorAll("[data-line]")].findLast((one) => Number(one.dataset.line) <= line);
    const isThere = wanted && (Number(wanted.dataset.line) === line || this.#body.classList.contains("form-markdown"));
    if (isThere) wanted.classList.add("wanted");
    const first = this.#stops.findIndex((one) => !wanted || (wanted.contains(one) || wanted.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING));
    this.#at = -1;
    if (first >= 0) this.#select(first, wanted);
    else {
      wanted?.scrollIntoView({ block: "center" });
      this.#tell(null);
    }
  }

  #select(number, beside = null) {
    this.#stops[this.#at]?.classList.remove("current");
    this.#at = number;
    const stop = this.#stops[number];
    stop.classList.add("current");
    const isInView = beside && beside.offsetHeight < this.#body.clientHeight; // a line may be longer than what is seen
    (isInView ? beside : stop).scrollIntoView({ block: "center" });
    const line = Number(stop.closest("[data-line]")?.dataset.line);
    const { matching_lines: all, total_lines, end_line, start_line } = this.#found;
    const isWhole = end_line - start_line + 1 >= total_lines;
    this.#tell(isWhole ? [number + 1, this.#stops.length] : [all.indexOf(line) + 1, all.length]);
  }

  // Tells where among the matches of pages one is, unless another document is shown by the time that they are drawn.
  async #tellOf(pages, stand) {
    const drawn = await stand;
    if (pages === this.#pages) this.#tell(drawn);
  }

  #tell(stand) {
    this.#counter.textContent = stand && stand[1] ? words.preview[stand[2] ? "matchPage" : "match"](...stand) : words.preview.noMatch;
  }

  #about(found) {
    const move = (by, label, sign) => element("button", { type: "button", class: "step", title: label, "aria-label": label, onclick: () => this.step(by) }, sign);
    const steps = found.matching_lines.length > 0 && element("div", { class: "steps" }, move(-1, words.preview.previous, "↑"), move(1, words.preview.next, "↓"), this.#counter);
    const views = hasViews(found) && this.#switch(found);
    const panel = element("div", { class: "panel" });
    const name = (iconOf(found.kind) !== "sheet" && found.title) || found.filename;
    this.#back.replaceChildren(words.preview.back, element("span", {}, name));
    return [
      this.#back,
      element("h2", {}, name),
      element("p", { class: "path", title: found.path }, found.path),
      element("p", { class: "facts" }, ...facts(found).map((fact) => element("span", {}, fact))),
      related(found, this.#onGo),
      element("div", { class: "tools" }, steps, actions(found, () => this.#place, panel, views)),
      panel,
    ].filter(Boolean);
  }

  // A document with pages can be looked at as it is drawn, or as text.
  #switch(found) {
    const label = () => (this.#asText ? words.preview.asPages : words.preview.asText);
    const button = element("button", { type: "button", class: "tool view", onclick: () => {
      this.#asText = !this.#asText;
      button.textContent = label();
      this.#draw(found, this.#place, !this.#asText);
    } }, label());
    return button;
  }
}

const hasViews = ({ form, is_drawn, text }) => form === "pages" && is_drawn && text.trim() !== "";
const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function facts(found) {
  const { metadata = {}, kind, page_lines: pages, total_lines, on_disk, masked } = found;
  const by = metadata?.author?.join(", ");
  const of = found.form === "message" ? "" : metadata?.created?.[0] ?? metadata?.modified?.[0];
  const size = pages.length > 1 ? words.preview.nPages(pages.length, pageOf(kind)) : hasLines(kind) && count(total_lines, "line", "lines");
  return [kind, size, by, of && !Number.isNaN(Date.parse(of)) && dateOf(of), on_disk && words.hits[on_disk], masked > 0 && words.preview.masked(plain(masked))].filter(Boolean);
}

// What lies in a message or an archive, and what a document lies in.
function related({ members, container }, onGo) {
  if (!members.length && !container) return null;
  const link = ({ doc_id, filename }) => element("button", { type: "button", class: "related", onclick: () => onGo({ doc: doc_id, line: "1", page: "" }) }, filename);
  return element(
    "div",
    { class: "relations" },
    container && element("p", {}, element("span", {}, words.preview.container), link(container)),
    members.length > 0 && element("p", {}, element("span", {}, words.preview.members), ...members.map(link)),
  );
}

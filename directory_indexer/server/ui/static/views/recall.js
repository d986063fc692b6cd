// Searches of before: those that led to a document, and those that a person saved. The browser keeps them, for this page.

import { go, read, written } from "../address.js";
import { element } from "../dom.js";
import { words } from "../words.js";

const RECENT = "dirindex.recent", SAVED = "dirindex.saved";
const MOST_RECENT = 8;

const kept = (name) => {
  try {
    const found = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.q === "string" && typeof one.filters === "object") : [];
  } catch {
    return [];
  }
};
const keep = (name, searches) => localStorage.setItem(name, JSON.stringify(searches));
const searchOf = ({ q, filters }) => ({ q: q.trim(), filters: Object.fromEntries(Object.entries(filters).filter(([, values]) => values.length)) });
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const without = (searches, wanted) => searches.filter((one) => !isSame(one, wanted));
const labelOf = ({ q, filters }) => [q, ...Object.entries(filters).flatMap(([name, values]) => values.map((value) => `${name}:${value}`))].filter(Boolean).join(" ");

// Keeps a search that led somewhere.
export function remember(state) {
  const search = searchOf(state);
  if (search.q) keep(RECENT, [search, ...without(kept(RECENT), search)].slice(0, MOST_RECENT));
}

export class Recall {
  button = element("button", { type: "button", class: "quiet save", "aria-pressed": "false", onclick: () => this.#toggle() });
  part = element("div", { class: "recall", hidden: true });

  // What was searched for before is offered where nothing is searched for.
  show(state) {
    const search = searchOf(state);
    const isBlank = !labelOf(search);
    const isSaved = kept(SAVED).some((one) => isSame(one, search));
    this.button.hidden = isBlank;
    this.button.setAttribute("aria-pressed", String(isSaved));
    this.button.textContent = isSaved ? `★ ${words.recall.isSaved}` : `☆ ${words.recall.save}`;
    const lists = isBlank ? [group(words.recall.saved, kept(SAVED), { onRemove: (search) => this.#remove(search) }), group(words.recall.recent, kept(RECENT), { onForget: () => this.#forget() })].filter(Boolean) : [];
    this.part.hidden = !lists.length;
    this.part.replaceChildren(...lists);
  }

  #toggle() {
    const search = searchOf(read());
    const saved = kept(SAVED), others = without(saved, search);
    keep(SAVED, others.length < saved.length ? others : [...saved, search]);
    this.show(read());
  }

  #remove(search) {
    keep(SAVED, without(kept(SAVED), search));
    this.show(read());
    this.part.querySelector("a, button")?.focus();
  }

  #forget() {
    keep(RECENT, []);
    this.show(read());
  }
}

function group(label, searches, { onForget, onRemove }) {
  if (!searches.length) return null;
  const button = (name, onclick) => element("button", { type: "button", class: "quiet", title: name, "aria-label": name, onclick }, "×");
  const forget = onForget && element("li", {}, button(words.recall.forget, onForget));
  const one = (search) => element("li", {}, link(search), onRemove && button(words.recall.remove(labelOf(search)), () => onRemove(search)));
  return element("nav", { "aria-label": label }, element("h2", {}, label), element("ul", { class: "chips" }, ...searches.map(one), forget));
}

function link(search) {
  const state = { ...read(), ...search, place: {} };
  const made = element("a", { class: "chip", href: written(state) }, labelOf(search));
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(state);
  });
  return made;
}

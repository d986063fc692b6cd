// What is not in the index, and why: by reason, with what went wrong or the rule that leaves it out.

import { get } from "../api.js";
import { go, read } from "../address.js";
import { element } from "../dom.js";
import { directoryOf, nameOf, plain, words } from "../words.js";

export const RULES = "ignored";
const PAGE = 50, MAX_SHOWN = 500;
const STAGE = /^(?:walk|read|extract|embed): /; // where in the program a file failed

let shouldScroll = false; // whether a link led to the list, which then comes into view

export function goToList(path, reason = "") {
  shouldScroll = true;
  go({ ...read(), view: "glance", filters: { path }, reason, place: {} });
}

export class LeftOut {
  #path = null;
  #reason = "";
  #counts = "";
  #nRequests = 0;
  #chips = element("div", { class: "chips", role: "group", "aria-label": words.leftOut.reasons });
  #explained = element("p", { class: "soft" });
  #list = element("ul", { class: "left-out" });
  #more = element("div", { class: "more" });
  #told = element("p", { class: "told", role: "status" });

  constructor() {
    const title = element("h2", { id: "left-out-title" }, words.leftOut.title);
    this.part = element("section", { "aria-labelledby": "left-out-title" }, title, this.#chips, this.#explained, this.#list, this.#more, this.#told);
  }

  async show(path, reason) {
    const scrolls = shouldScroll;
    shouldScroll = false;
    if (path === this.#path && reason === this.#reason) return scrolls && this.part.scrollIntoView({ block: "start" });
    this.#path = path;
    this.#reason = reason;
    this.#list.replaceChildren();
    this.#explained.textContent = words.leftOut.explained[reason] ?? "";
    await this.#load(0);
    const isChosenHere = this.#chips.contains(document.activeElement);
    if (scrolls || (reason && !isChosenHere)) this.part.scrollIntoView({ block: "start" });
  }

  // Loads the list again, as far as it is shown, when the counts of the index change.
  reloadIfChanged({ files, failed, skip_reasons: skipped, pages }) {
    const [before, now] = [this.#counts, JSON.stringify([files, failed, skipped, pages])];
    this.#counts = now;
    if (before && before !== now) this.#load(0);
  }

  async #load(offset) {
    const [path, reason, shown, request] = [this.#path, this.#reason, this.#list.childElementCount, ++this.#nRequests];
    this.#more.replaceChildren();
    try {
      const found = await get("left_out", { path, reason, offset, limit: offset ? PAGE : Math.min(Math.max(PAGE, shown), MAX_SHOWN) });
      if (request !== this.#nRequests) return;
      if (!offset) this.#list.replaceChildren();
      this.#showReasons(found.reasons);
      for (const chip of this.#chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.reason === reason));
      const first = this.#list.childElementCount;
      this.#list.append(...found.files.map((file) => row(file, !reason)));
      this.#told.textContent = first + found.files.length ? "" : words.leftOut.none;
      if (found.truncated) this.#told.textContent = words.leftOut.truncated;
      if (found.next_offset) this.#more.append(element("button", { type: "button", class: "quiet", onclick: () => this.#load(found.next_offset) }, words.hits.more));
    } catch (problem) {
      this.#told.replaceChildren(element("span", { class: "problem" }, problem.message));
    }
  }

  #showReasons(reasons) {
    const had = document.activeElement?.dataset?.reason;
    const total = Object.values(reasons).reduce((sum, n) => sum + n, 0);
    const all = [["", total], ...Object.entries(reasons), [RULES, null]];
    this.#chips.replaceChildren(...all.map(([reason, n]) => element(
      "button",
      { type: "button", class: "chip", "data-reason": reason, onclick: () => go({ ...read(), reason }) },
      words.leftOut.names[reason] ?? reason,
      " ",
      n !== null && element("span", { class: "count" }, plain(n)),
    )));
    if (had !== undefined) [...this.#chips.children].find((chip) => chip.dataset.reason === had)?.focus();
  }
}

export function row(file, withReason) {
  const why = [withReason && (words.leftOut.names[file.reason] ?? file.reason), file.detail?.replace(STAGE, "")].filter(Boolean).join(": ");
  return element(
    "li",
    { title: file.path },
    element("p", {}, element("span", { class: "file-name" }, nameOf(file.path)), element("span", { class: "directory" }, directoryOf(file.path))),
    why && element("p", { class: "soft why" }, why),
  );
}

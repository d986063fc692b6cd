// The tracked directories: adding one and forgetting one, each after it was shown what that means.

import { post } from "../api.js";
import { go } from "../address.js";
import { element, openDialog, visible } from "../dom.js";
import { SEPARATOR, since, sizeOf, words } from "../words.js";
import { openAdding } from "./adding.js";

export class Tracked {
  #onChange;
  #list = element("ul", { class: "tracked" });
  #told = element("p", { class: "told", role: "status" });
  #last = "";

  constructor({ onChange }) {
    this.#onChange = onChange;
    const add = element("button", { type: "button", class: "plain", onclick: () => openAdding({ onAdded: (path) => this.#added(path) }) }, words.tracked.add);
    const title = element("div", { class: "title" }, element("h2", { id: "tracked-title" }, words.tracked.title), add);
    this.part = element("section", { class: "tracked-part", "aria-labelledby": "tracked-title" }, title, this.#list, this.#told);
  }

  show(directories) {
    const key = JSON.stringify(directories);
    if (key === this.#last || document.querySelector("dialog[open]")) return; // which leads back to one of the buttons
    this.#last = key;
    const had = this.#list.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    this.#list.replaceChildren(...directories.map((one) => this.#one(one)));
    if (had) [...this.#list.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === had)?.focus();
  }

  #one(one) {
    const facts = [
      words.index.files(one), sizeOf(one.bytes), one.chunks ? words.index.meaning(one.embedded / one.chunks) : "",
      one.indexed_at ? words.tracked.indexed(since(one.indexed_at)) : words.tracked.never,
    ];
    const act = (label, run) => element("button", { type: "button", class: "quiet", "aria-label": `${label}: ${one.path}`, onclick: run }, label);
    return element(
      "li",
      {},
      element("p", { class: "file-name" }, one.path),
      element("p", { class: "soft" }, facts.filter(Boolean).join(SEPARATOR)),
      !one.available && element("p", { class: "warning" }, words.tracked.away),
      element(
        "div",
        { class: "acts" },
        act(words.tracked.search, () => go({ view: "search", filters: { path: [one.path] } })),
        act(words.tracked.update, () => this.#do(() => post("index", { path: one.path }), words.runs.asked.update)),
        act(words.tracked.forget, () => this.#forget(one)),
      ),
    );
  }

  async #do(run, done) {
    try {
      await run();
      this.#told.textContent = done;
    } catch (problem) {
      this.#told.replaceChildren(element("span", { class: "problem" }, problem.message));
    }
    this.#onChange();
  }

  #added(path) {
    this.#told.textContent = visible(words.adding.added(path));
    this.#onChange();
  }

  async #forget(one) {
    let looked;
    try {
      looked = await post("directories/look_at_forgetting", { path: one.path });
    } catch (problem) {
      this.#told.replaceChildren(element("span", { class: "problem" }, problem.message));
      return;
    }
    openDialog(words.forgetting.title, {
      body: [element("p", { class: "file-name" }, looked.path), element("p", {}, words.forgetting.goes(looked)), element("p", { class: "soft" }, words.forgetting.stays)],
      confirm: words.forgetting.confirm,
      isGrave: true,
      onConfirm: async () => {
        const gone = await post("directories/forget", { confirmation: looked.confirmation });
        this.#told.textContent = visible([words.forgetting.done(looked.path), ...gone.notes].join(" "));
        this.#onChange();
        return true;
      },
    });
  }
}

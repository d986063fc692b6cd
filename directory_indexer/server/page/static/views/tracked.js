// The tracked directories: adding one and forgetting one, each after it was shown what that means.

import { post } from "../api.js";
import { go } from "../address.js";
import { element, openDialog, visible } from "../dom.js";
import { count, plain, since, sizeOf, spanOf, words } from "../words.js";

export class Tracked {
  #onChange;
  #list = element("ul", { class: "tracked" });
  #told = element("p", { class: "told", role: "status" });
  #last = "";

  constructor({ onChange }) {
    this.#onChange = onChange;
    const add = element("button", { type: "button", class: "plain", onclick: () => this.#add() }, words.tracked.add);
    const title = element("div", { class: "title" }, element("h2", { id: "tracked-title" }, words.tracked.title), add);
    this.part = element("section", { class: "tracked-part", "aria-labelledby": "tracked-title" }, title, this.#list, this.#told);
  }

  show(directories) {
    const key = JSON.stringify(directories);
    if (key === this.#last) return;
    this.#last = key;
    this.#list.replaceChildren(...directories.map((one) => this.#one(one)));
  }

  #one(one) {
    const facts = [
      words.index.files(one.files), sizeOf(one.bytes), one.chunks ? words.index.meaning(one.embedded / one.chunks) : "",
      one.failed + one.skipped ? words.map.missing(one.failed, one.skipped) : "",
      one.indexed_at ? words.tracked.indexed(since(one.indexed_at)) : words.tracked.never,
    ];
    const act = (label, run) => element("button", { type: "button", class: "quiet", "aria-label": `${label}: ${one.path}`, onclick: run }, label);
    return element(
      "li",
      {},
      element("p", { class: "file-name" }, one.path),
      element("p", { class: "soft" }, facts.filter(Boolean).join(" · ")),
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

  #add() {
    const input = element("input", { id: "directory", type: "text", autocomplete: "off", spellcheck: "false", placeholder: words.adding.placeholder });
    const shown = element("div", { class: "shown", "aria-live": "polite" });
    let looked = null;
    const dialog = openDialog(words.adding.title, {
      body: [element("label", { for: "directory" }, words.adding.label), input, shown],
      confirm: words.adding.look,
      onConfirm: async (say, button) => {
        if (looked?.typed === input.value) {
          await post("directories/add", { confirmation: looked.confirmation });
          this.#told.textContent = visible(words.adding.added(looked.path));
          this.#onChange();
          return true;
        }
        shown.replaceChildren(element("p", { class: "soft" }, words.adding.looking));
        const typed = input.value;
        try {
          looked = { ...(await post("directories/look", { path: typed.trim() })), typed };
        } catch (problem) {
          shown.replaceChildren();
          throw problem;
        }
        shown.replaceChildren(...whatItAdds(looked));
        button.textContent = words.adding.confirm;
        return false;
      },
    });
    input.addEventListener("input", () => {
      if (looked && looked.typed !== input.value) {
        looked = null;
        shown.replaceChildren();
        dialog.confirm.textContent = words.adding.look;
      }
    });
    input.focus();
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

function whatItAdds(looked) {
  const kinds = Object.entries(looked.kinds).map(([ending, n]) => `${ending || words.adding.noEnding} ${plain(n)}`).join(", ");
  const facts = [
    [words.adding.path, looked.path],
    [words.adding.files, `${looked.whole ? "" : words.adding.atLeast}${count(looked.files, "file", "files")}, ${sizeOf(looked.bytes)}`],
    [words.adding.kinds, kinds],
    [words.adding.time, looked.seconds === null ? words.adding.unknownTime : words.adding.about(spanOf(looked.seconds))],
    [words.adding.room, words.adding.roomOf(sizeOf(looked.index_bytes), sizeOf(looked.free_bytes))],
    [words.adding.redone, looked.redone.join(", ")],
    [words.adding.failed, looked.failed ? plain(looked.failed) : ""],
    [words.adding.skipped, looked.skipped ? plain(looked.skipped) : ""],
    [words.adding.ignored, looked.ignored ? plain(looked.ignored) : ""],
  ];
  const rules = looked.rules.map(({ rule, paths }) => element("li", {}, element("code", {}, rule), ` ${plain(paths)}`));
  return [
    element("dl", { class: "facts" }, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    rules.length && element("details", {}, element("summary", {}, words.adding.rules), element("ul", { class: "rules" }, ...rules)),
    !looked.whole && element("p", { class: "warning" }, words.adding.partly),
  ].filter(Boolean);
}

// What goes on and went on lately.

import { post } from "../api.js";
import { element } from "../dom.js";
import { SEPARATOR, momentOf, nameOf, words } from "../words.js";
import { progressOf } from "./stand.js";

const MOST = 8;

export class Runs {
  #onChange;
  #list = element("ol", { class: "runs" });
  #last = "";

  constructor({ onChange }) {
    this.#onChange = onChange;
    this.part = element("section", { "aria-labelledby": "runs-title" }, element("h2", { id: "runs-title" }, words.runs.title), this.#list);
  }

  show(operations) {
    const key = JSON.stringify(operations);
    if (key === this.#last) return;
    this.#last = key;
    const shown = worthShowing(operations).slice(0, MOST).map((one) => this.#one(one));
    this.#list.replaceChildren(...(shown.length ? shown : [element("li", { class: "empty" }, words.runs.none)]));
  }

  #one(one) {
    const { run } = one;
    const places = run?.directories.map(nameOf).join(", ");
    const resume = one.state === "paused" && one.kind !== "index" && element("button", { type: "button", class: "quiet", onclick: () => this.#resume(one) }, words.runs.resume);
    const facts = [one.started_at && momentOf(one.started_at), run && one.state === "running" && progressOf(run).said, run?.failed ? words.map.missing(run.failed, 0) : ""];
    return element(
      "li",
      {},
      element("p", {}, element("strong", {}, words.runs.kinds[one.kind] ?? one.kind), places && ` ${places}`, element("span", { class: `state-of ${one.state.replaceAll(" ", "-")}` }, words.runs.states[one.state] ?? one.state)),
      element("p", { class: "soft" }, facts.filter(Boolean).join(SEPARATOR)),
      one.message && element("p", { class: one.state === "failed" ? "problem" : "soft" }, one.message),
      resume,
    );
  }

  async #resume(one) {
    await post(`operations/${one.id}/resume`, {}).catch(() => {});
    this.#onChange();
  }
}

// Active runs first; ended runs without work are hidden, except the newest.
function worthShowing(operations) {
  const active = operations.filter(isActive), ended = operations.filter((one) => !isActive(one) && !isErased(one));
  return [...active, ...ended.filter((one, i) => !isIdle(one) || i === 0)];
}

const isActive = ({ state }) => ["queued", "running"].includes(state);
const isErased = ({ run }) => run?.verb === "index" && !run.directories.length;
const isIdle = ({ run, state, message }) => state === "completed" && run && !(run.files_done || run.chunks_done || run.pages_done || message);

// How the index stands, in figures; and what goes on, with what can be done about it.

import { post, remove } from "../api.js";
import { element, meter } from "../dom.js";
import { plain, sizeOf, spanOf, words } from "../words.js";

export class Stand {
  #onChange;
  #figures = element("dl", { class: "figures" });
  #now = element("div", { class: "now" });
  #told = element("p", { class: "told", role: "status" });
  #last = "";

  constructor({ onChange }) {
    this.#onChange = onChange;
    this.part = element("section", { class: "stand-part", "aria-label": words.glance.label }, this.#figures, this.#now, this.#told);
  }

  show(status, operations) {
    this.#figures.replaceChildren(...figuresOf(status).flatMap(([name, value]) => [element("div", {}, element("dt", {}, name), element("dd", {}, value))]));
    const run = operations.find((one) => one.kind === "index" && ["running", "queued"].includes(one.state));
    const key = JSON.stringify([run, status.paused.length, status.waiting.chunks, status.waiting.covered, status.directories.length > 0]);
    if (key === this.#last) return;
    const had = this.#last && document.activeElement?.dataset?.act;
    this.#last = key;
    this.#now.replaceChildren(...(run ? this.#going(run) : status.paused.length ? this.#paused(status) : this.#idle(status)));
    if (had) this.#now.querySelector(`[data-act="${had}"]`)?.focus();
  }

  #going(run) {
    const { share, said } = progressOf(run.run);
    return [
      element("p", { class: "doing" }, words.runs.phases[run.run.phase] ?? run.run.phase, said && element("span", { class: "soft" }, said)),
      meter(share, words.runs.progress),
      this.#button("pause", words.runs.pause, () => post(`operations/${run.id}/pause`, {})),
      this.#button("stop", words.runs.stop, () => remove(`operations/${run.id}`)),
    ];
  }

  #paused(status) {
    return [
      element("p", { class: "doing" }, words.runs.isPaused, element("span", { class: "soft" }, words.runs.pausedAdvice)),
      this.#button("resume", words.runs.resume, () => post(`operations/${status.paused[0].id}/resume`, {})),
    ];
  }

  #idle({ waiting, directories }) {
    if (!directories.length) return [element("p", { class: "doing" }, words.glance.empty)];
    const [said, label] = waiting.chunks
      ? [words.glance.waiting(waiting.chunks, waiting.covered, waiting.seconds && spanOf(waiting.seconds)), words.runs.update]
      : [words.glance.upToDate, words.runs.look];
    return [
      element("p", { class: "doing" }, said),
      this.#button("update", label, () => post("index", {})),
    ];
  }

  #button(act, label, run) {
    const press = async () => {
      button.setAttribute("aria-disabled", "true");
      try {
        await run();
        this.#told.textContent = words.runs.asked[act];
      } catch (problem) {
        this.#told.replaceChildren(element("span", { class: "problem" }, problem.message));
        button.removeAttribute("aria-disabled");
      }
      this.#onChange();
    };
    const button = element("button", { type: "button", class: "plain", "data-act": act, onclick: press }, label);
    return button;
  }
}

// How far a run is: a share of 0 to 1, null where that is not known, and the same in words.
export function progressOf(run) {
  const counts = [["chunks", "covering", "embedding", "copying"], ["pages", "recognising"]];
  const what = counts.find(([, ...phases]) => phases.includes(run.phase))?.[0] ?? "files";
  const [done, total] = [run[`${what}_done`], run[`${what}_total`]];
  return { share: total ? Math.min(done / total, 1) : null, said: total ? words.runs.of[what](plain(done), plain(total)) : "" };
}

function figuresOf(status) {
  const { files, chunks, embedded, bytes } = status;
  const share = chunks ? `${Math.floor((100 * embedded) / chunks)} %` : "–";
  return [
    [words.glance.files, plain(files) + words.index.missing(status.skipped, status.failed)],
    [words.glance.size, sizeOf(bytes)],
    [words.glance.passages, plain(chunks)],
    [words.glance.meaning, share],
    [words.glance.onDisk, sizeOf(status.database_bytes + status.vector_bytes)],
  ];
}

// What can be done with a document: open it, show it in its folder, copy its path, draw what is around it.

import { openFile } from "../api.js";
import { go, read } from "../address.js";
import { element, openDialog } from "../dom.js";
import { words } from "../words.js";

const WORDS = words.preview;

export function actions(found, place, panel, views) {
  const say = (text, isProblem) => panel.replaceChildren(element("p", { class: isProblem ? "problem" : "said", role: "status" }, text));
  const button = (label, onclick) => element("button", { type: "button", class: "tool", onclick }, label);
  const isMember = Boolean(found.container);
  const open = (how) => () => opened(found, how, place(), say);
  return element(
    "div",
    { class: "actions" },
    views,
    !isMember && ["lines", "markdown"].includes(found.form) && button(WORDS.editor, open("editor")),
    !isMember && !["lines", "markdown"].includes(found.form) && button(WORDS.program, open("program")),
    !isMember && button(WORDS.reveal, open("folder")),
    button(WORDS.copy, async () => {
      try {
        await navigator.clipboard.writeText(found.path);
        say(WORDS.copied);
      } catch {
        say(found.path);
      }
    }),
    found.text && button(WORDS.neighbours, () => go({ ...read(), view: "neighbours", filters: {}, place: { doc: found.doc_id } })),
  );
}

// A person allows once, as long as the server runs, that the page has files opened.
async function opened(found, how, place, say, allow = false) {
  try {
    const answer = await openFile({ doc_id: found.doc_id, how, line: Number(place.line) || 1, page: Number(place.page) || 0, allow });
    if (answer.is_allowed) say(WORDS.openedWith(answer.program));
    else if (await isAllowed(found)) await opened(found, how, place, say, true);
  } catch (problem) {
    say(problem.message, true);
  }
}

function isAllowed(found) {
  return new Promise((resolve) => {
    let is = false;
    const { dialog } = openDialog(WORDS.allowTitle, {
      body: [element("p", {}, WORDS.allowWhat), element("p", { class: "path" }, found.path)],
      confirm: WORDS.allowYes,
      onConfirm: () => (is = true),
    });
    dialog.addEventListener("close", () => resolve(is));
  });
}

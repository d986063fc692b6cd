// Adding a directory: suggested ones, a field that completes paths, and what adding means before it is done.

import { get, post } from "../api.js";
import { element, newId, openDialog } from "../dom.js";
import { icon } from "../kinds.js";
import { count, directoryOf, nameOf, plain, sizeOf, words } from "../words.js";

// Directories to choose from, and a way to name another one.
export function welcome(onAdded) {
  const list = element("ul", { class: "suggested", "aria-label": words.welcome.suggested });
  const other = element("button", { type: "button", class: "plain", onclick: () => openAdding({ onAdded }) }, words.welcome.other);
  const part = element("section", { class: "welcome", "aria-labelledby": "welcome-title" }, element("h2", { id: "welcome-title" }, words.welcome.title), element("p", { class: "soft" }, words.welcome.what), list, other);
  suggested("").then(({ directories }) => list.replaceChildren(...directories.map((path) => suggestion(path, onAdded))));
  return part;
}

const suggested = (path) => get("directories/suggested", { path }).catch(() => ({ directories: [] }));

function suggestion(path, onAdded) {
  const button = element("button", { type: "button", class: "suggestion", onclick: () => openAdding({ path, onAdded }) }, icon("directory"), element("span", { class: "file-name" }, nameOf(path)), element("span", { class: "directory" }, directoryOf(path)));
  return element("li", {}, button);
}

// Asks which directory, and shows what would be read of it; one that is named is looked at right away.
export function openAdding({ path = "", onAdded }) {
  const paths = element("datalist", { id: newId("paths") });
  const input = element("input", { id: "directory", type: "text", value: path, list: paths.id, autocomplete: "off", spellcheck: "false", placeholder: words.adding.placeholder });
  const shown = element("div", { class: "shown", "aria-live": "polite" });
  let looked = null, added = "";
  const look = async (button) => {
    const typed = input.value;
    shown.replaceChildren(element("p", { class: "soft" }, words.adding.looking));
    try {
      looked = { ...(await post("directories/look", { path: typed.trim() })), typed };
    } catch (problem) {
      shown.replaceChildren();
      throw problem;
    }
    if (input.value !== typed) return (looked = null);
    shown.replaceChildren(...whatItAdds(looked));
    button.textContent = words.adding.confirm;
  };
  const dialog = openDialog(words.adding.title, {
    body: [element("label", { for: "directory" }, words.adding.label), input, paths, shown],
    confirm: words.adding.look,
    onConfirm: async (_, button) => {
      if (looked?.typed !== input.value) {
        await look(button);
        return false;
      }
      await post("directories/add", { confirmation: looked.confirmation });
      added = looked.path;
      return true;
    },
  });
  dialog.dialog.addEventListener("close", () => added && onAdded(added)); // the focus is back where it was by then
  const complete = async () => {
    const typed = input.value;
    const found = await suggested(typed);
    if (input.value === typed) paths.replaceChildren(...found.directories.map((one) => element("option", { value: one })));
  };
  input.addEventListener("input", () => {
    complete();
    if (!looked || looked.typed === input.value) return;
    looked = null;
    shown.replaceChildren();
    dialog.confirm.textContent = words.adding.look;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" || event.shiftKey) return;
    event.preventDefault();
    const path = completed(input.value, [...paths.children].map((option) => option.value));
    if (path === input.value) return dialog.confirm.focus();
    input.value = path;
    input.dispatchEvent(new Event("input"));
  });
  if (path) dialog.submit();
  else complete();
  (path ? dialog.confirm : input).focus();
}

// A path as far as all directories that continue it agree, as in a shell; a single one is entered.
function completed(typed, directories) {
  const found = typed ? directories.filter((directory) => directory.startsWith(typed)) : [];
  if (found.length === 1) return `${found[0].replace(/\/$/, "")}/`;
  return found.slice(1).reduce((shared, directory) => {
    let length = shared.length;
    while (!directory.startsWith(shared.slice(0, length))) length--;
    return shared.slice(0, length);
  }, found[0] ?? typed);
}

function whatItAdds(looked) {
  const kinds = Object.entries(looked.kinds).map(([ending, n]) => `${ending || words.adding.noEnding} ${plain(n)}`).join(", ");
  const facts = [
    [words.adding.path, looked.path === looked.typed ? "" : looked.path],
    [words.adding.files, `${looked.whole ? "" : words.adding.atLeast}${count(looked.files, "file", "files")}, ${sizeOf(looked.bytes)}`],
    [words.adding.kinds, kinds],
    [words.adding.time, looked.seconds === null ? words.adding.unknownTime : words.adding.about(looked.seconds)],
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

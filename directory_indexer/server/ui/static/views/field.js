// The field for the query, which completes the names and the values of filters.

import { element, newId } from "../dom.js";
import { words } from "../words.js";
import { suggestions } from "./completion.js";

const isNarrow = matchMedia("(max-width: 30rem)");
const LINE_END = " \u2028"; // a field of one line keeps it, and the server reads it as the end of a line

export function field({ onInput, onSubmit }) {
  const list = element("ul", { id: newId("suggestions"), class: "suggestions", role: "listbox", "aria-label": words.field.suggestions, hidden: true });
  const input = element("input", {
    id: "query",
    type: "search",
    role: "combobox",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
    placeholder: isNarrow.matches ? words.field.shortPlaceholder : words.field.placeholder,
    "aria-label": words.field.label,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "search",
  });
  let offered = null;
  let at = -1;

  const close = () => {
    offered = null;
    at = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (number) => {
    at = number;
    [...list.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", list.children[at].id);
  };
  const accept = (number) => {
    const { start, end, values, isName } = offered;
    input.setRangeText(values[number].written + (isName ? "" : " "), start, end, "end");
    input.focus();
    close();
    onInput(input.value);
    if (isName) offer();
  };
  const option = ({ shown, n }, i) => element("li", { id: newId("suggestion"), role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); accept(i); } }, element("span", { class: "value" }, shown), n && element("span", { class: "count" }, n));
  async function offer() {
    const typed = input.value;
    const found = await suggestions(typed, input.selectionStart);
    if (input.value !== typed || document.activeElement !== input) return;
    if (!found?.values.length) return close();
    offered = found;
    list.replaceChildren(...found.values.map(option));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(-1);
  }

  input.addEventListener("input", () => {
    onInput(input.value);
    offer();
  });
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    if (!/[\r\n]/.test(text)) return;
    event.preventDefault();
    input.setRangeText(text.replace(/\r\n?|\n/g, LINE_END), input.selectionStart, input.selectionEnd, "end");
    close();
    onInput(input.value);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!offered || event.ctrlKey || event.metaKey || event.altKey) return;
    const n = offered.values.length;
    // Names are offered while words are typed, too: there, arrows lead to the hits as ever.
    if (event.key === "ArrowDown" && !offered.isName) mark((at + 1) % n);
    else if (event.key === "ArrowUp" && !offered.isName) mark((at + n) % (n + 1) - 1 < 0 ? n - 1 : at - 1);
    else if (event.key === "Tab" && !event.shiftKey) accept(Math.max(at, 0));
    else if (event.key === "Enter" && at >= 0) accept(at);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const submit = (event) => {
    event.preventDefault();
    onSubmit();
  };
  return { input, field: element("form", { role: "search", class: "field", onsubmit: submit }, input, list) };
}

// The field for the query.

import { element } from "../dom.js";
import { words } from "../words.js";

export function field({ onInput, onSubmit }) {
  const input = element("input", {
    id: "query",
    type: "search",
    placeholder: words.field.placeholder,
    "aria-label": words.field.label,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    oninput: () => onInput(input.value),
  });
  const submit = (event) => {
    event.preventDefault();
    onSubmit();
  };
  return { input, field: element("form", { role: "search", class: "field", onsubmit: submit }, input) };
}

// Elements are made here and nowhere else, so that texts never become markup.

import { words } from "./words.js";

// Characters that reverse the direction of text would let one name pass for another, and code for other code.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
export const visible = (text) => (typeof text === "string" ? text.replace(TURNS, "\ufffd") : text);
const TOLD = ["title", "aria-label", "alt"];

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : TOLD.includes(name) ? visible(value) : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(visible));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children.map(visible));
  return made;
}

// Puts an element at a place of the one around it; the content policy allows styles that scripts set one by one.
export function place(made, { x, y, width, height }) {
  for (const [name, value] of Object.entries({ left: x, top: y, width, height })) made.style.setProperty(name, `${value.toFixed(1)}px`);
  return made;
}

// What may be wider than there is room for, and is scrolled with the arrow keys then.
export const scrolled = (label) => ({ tabindex: "0", role: "group", "aria-label": label });

// How far something is, 0 to 1, or null where nobody knows.
export function meter(share, label) {
  return element("progress", { "aria-label": label, max: 1, value: share });
}

// One of several ways to look at something.
export function choices(label, names, chosen, onChoose) {
  const id = newId("choice");
  const options = Object.entries(names).map(([value, name]) => element(
    "label",
    {},
    element("input", { type: "radio", name: id, value, checked: value === chosen, onchange: () => onChoose(value) }),
    element("span", {}, name),
  ));
  return element("fieldset", { class: "choices" }, element("legend", {}, label), ...options);
}

// Asks before something is done; `onConfirm` says whether it was, and an error of it is shown.
export function openDialog(title, { body, confirm, onConfirm, isGrave = false }) {
  const id = newId("dialog");
  const told = element("p", { class: "problem", role: "alert" });
  const cancel = element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, words.dialog.cancel);
  const button = element("button", { type: "submit", class: isGrave ? "grave" : "strong" }, confirm);
  const submit = async (event) => {
    event.preventDefault();
    if (button.getAttribute("aria-disabled")) return;
    told.textContent = "";
    button.setAttribute("aria-disabled", "true");
    try {
      if (await onConfirm(told, button)) dialog.close();
    } catch (problem) {
      told.textContent = problem.message;
    }
    button.removeAttribute("aria-disabled");
  };
  const form = element("form", { onsubmit: submit }, element("h2", { id }, title), ...body, told, element("div", { class: "acts" }, cancel, button));
  const dialog = element("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, form);
  dialog.addEventListener("keydown", (event) => event.stopPropagation()); // the keys of the page are not for it
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, confirm: button, submit: () => form.requestSubmit() };
}

// Shows something until it is closed.
export function openNotice(title, body, close) {
  const id = newId("dialog");
  const button = element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, close);
  const dialog = element("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, element("h2", { id }, title), body, element("div", { class: "acts" }, button));
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  document.body.append(dialog);
  dialog.showModal();
}

// Cuts a text at stretches given in code points, as the server counts them, and gives each piece with its stretches.
export function pieces(text, ...lists) {
  const points = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const length = points ? points.length : text.length;
  const cut = (from, to) => (points ? points.slice(from, to).join("") : text.slice(from, to));
  const borders = new Set([0, length]);
  for (const list of lists) for (const [from, to] of list) borders.add(Math.min(from, length)).add(Math.min(to, length));
  const sorted = [...borders].sort((a, b) => a - b);
  const at = lists.map(() => 0);
  const found = [];
  for (let i = 0; i + 1 < sorted.length; i++) {
    const from = sorted[i];
    const covering = lists.map((list, number) => {
      while (at[number] < list.length && list[at[number]][1] <= from) at[number]++;
      const one = list[at[number]];
      return one && one[0] <= from ? one : null;
    });
    found.push([cut(from, sorted[i + 1]), ...covering]);
  }
  return found;
}

// Gives a text as nodes, with what matched marked.
export function marked(text, marks) {
  return pieces(text, marks).map(([piece, mark]) => (mark ? element("mark", {}, piece) : piece));
}

let lastId = 0;
export const newId = (prefix) => `${prefix}-${++lastId}`;

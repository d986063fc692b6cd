// Puts the page together: its frame, and in it the view that the address names.

import { onChange, read, go } from "./address.js";
import { follow as followIndex, known } from "./changes.js";
import { element } from "./dom.js";
import { begin } from "./session.js";
import { footer } from "./footer.js";
import { VIEWS } from "./views/all.js";
import { words } from "./words.js";

const links = new Map();
const main = element("main", { id: "main" });
let shown = null;

function frame() {
  const views = Object.keys(VIEWS).map((name) => {
    const link = element("a", { href: name === "search" ? "./" : `?view=${name}`, onclick: (event) => follow(event, name) });
    link.textContent = words.views[name];
    links.set(name, link);
    return link;
  });
  const navigation = views.length > 1 && element("nav", { "aria-label": words.viewsLabel }, ...views);
  const bar = element("header", {}, element("h1", { class: "name" }, element("a", { href: "./" }, words.name)), VIEWS.search.field, navigation);
  document.body.replaceChildren(element("a", { class: "skip", href: "#main" }, words.skip), bar, main, footer());
}

function follow(event, view) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const state = read();
  const filters = view === "glance" || view === "search" ? state.filters : {};
  go({ ...state, view, filters, reason: "", place: VIEWS[view].keepsDocument ? { doc: state.place.doc } : {} });
}

function show(state) {
  const name = state.view in VIEWS ? state.view : "search";
  for (const [view, link] of links) {
    if (view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown !== VIEWS[name]) {
    shown?.hide?.();
    shown = VIEWS[name];
    main.className = `view-${name}`;
    main.replaceChildren(...shown.parts());
    document.title = name === "search" ? words.name : `${words.views[name]} · ${words.name}`;
  }
  shown.show(state);
}

await begin();
frame();
followIndex();
await known;
onChange(show);
show(read());
if (matchMedia("(hover: hover)").matches) VIEWS.search.focus();

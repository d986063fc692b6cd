// Markdown, from the tree that the server made of it: only what stands in this table becomes an element. Links lead to
// the web, or to files of the index, which the server has found.

import { read, written } from "../address.js";
import { element, marked, scrolled } from "../dom.js";
import { words } from "../words.js";

const TAGS = {
  paragraph: "p", bullet_list: "ul", ordered_list: "ol", list_item: "li", blockquote: "blockquote", hr: "hr", br: "br",
  em: "em", strong: "strong", s: "s", code: "code", h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", h6: "h6",
  thead: "thead", tbody: "tbody", tr: "tr", th: "th", td: "td",
};

export function markdown(found, onGo) {
  return element("div", { class: "prose rendered" }, ...found.elements.flatMap((node) => nodes(node, onGo)));
}

function nodes(node, onGo) {
  const line = node.line || undefined;
  if (!node.tag) return marked(node.text, node.marks);
  const inner = node.children.flatMap((child) => nodes(child, onGo));
  if (node.tag === "pre") return [element("pre", { "data-line": line, ...scrolled(words.preview.code) }, element("code", {}, ...inner))];
  if (node.tag === "image") return [element("span", { class: "image" }, ...inner)];
  if (node.tag === "link") return [link(node, inner, onGo)];
  if (node.tag === "table") return [element("div", { class: "sheet", ...scrolled(words.preview.table) }, element("table", { "data-line": line }, ...inner))];
  const tag = node.tag === "th" && !inner.length ? "td" : TAGS[node.tag]; // a header that says nothing is none
  return tag ? [element(tag, { "data-line": line, "data-level": /^h\d$/.test(node.tag) ? node.tag[1] : undefined }, ...inner)] : inner;
}

function link({ href, doc_id: doc, heading }, inner, onGo) {
  if (doc) return inside({ doc, line: heading ? "" : "1", page: "", heading }, inner, onGo);
  if (!/^https?:\/\//.test(href)) return element("span", { class: "link" }, ...inner);
  return element("a", { href, title: href, target: "_blank", rel: "noopener noreferrer" }, ...inner);
}

function inside(place, inner, onGo) {
  const made = element("a", { href: written({ ...read(), place }) }, ...inner);
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onGo(place);
  });
  return made;
}

// The line of the heading that an anchor means: its words in lower case, joined by hyphens, and a number after those
// that occur more than once.
export function lineOf(part, anchor) {
  const seen = new Map();
  for (const heading of part.querySelectorAll("[data-level]")) {
    const plain = heading.textContent.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    const n = seen.get(plain) ?? 0;
    seen.set(plain, n + 1);
    if ((n ? `${plain}-${n}` : plain) === anchor.toLowerCase()) return Number(heading.dataset.line);
  }
  return 1;
}

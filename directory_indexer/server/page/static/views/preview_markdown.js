// Markdown, from the tree that the server made of it: only what stands in this table becomes an element.

import { element, marked } from "../dom.js";

const TAGS = {
  paragraph: "p", bullet_list: "ul", ordered_list: "ol", list_item: "li", blockquote: "blockquote", hr: "hr", br: "br",
  em: "em", strong: "strong", s: "s", code: "code", h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", h6: "h6",
  table: "table", thead: "thead", tbody: "tbody", tr: "tr", th: "th", td: "td",
};

export function markdown(found) {
  return element("div", { class: "prose rendered" }, ...found.elements.flatMap(nodes));
}

function nodes(node) {
  const line = node.line || undefined;
  if (!node.tag) return marked(node.text, node.marks);
  const inner = node.children.flatMap(nodes);
  if (node.tag === "pre") return [element("pre", { "data-line": line }, element("code", {}, ...inner))];
  if (node.tag === "image") return [element("span", { class: "image" }, ...inner)];
  if (node.tag === "link") return [link(node.href, inner)];
  const tag = TAGS[node.tag];
  return tag ? [element(tag, { "data-line": line, "data-level": /^h\d$/.test(node.tag) ? node.tag[1] : undefined }, ...inner)] : inner;
}

function link(href, inner) {
  if (!/^https?:\/\//.test(href)) return element("span", { class: "link" }, ...inner);
  return element("a", { href, title: href, target: "_blank", rel: "noopener noreferrer" }, ...inner);
}

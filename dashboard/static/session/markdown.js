// DOM nodes of the tree that the server makes of a message's Markdown (views/session/markdown.py).

import { make } from "../page.js";

const TAGS = new Set([
  "p", "strong", "em", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "br", "hr",
  "a", "h3", "h4", "h5", "code", "pre",
]);
const ALIGNED = { left: "text-start", center: "text-center", right: "text-end" };
const LINK = /^(https?:\/\/|mailto:)/i;

export function buildNodes(nodes) {
  return nodes.map(buildNode);
}

function buildNode(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const children = buildNodes(node.children);
  if (!TAGS.has(node.tag)) return make("span", {}, ...children);
  switch (node.tag) {
    case "a":
      return LINK.test(node.href) ? buildLink(node.href, children) : make("span", {}, ...children);
    case "ol":
      return make("ol", { start: node.start }, ...children);
    case "table":
      return make("div", { class: "table-responsive" }, make("table", { class: "table table-sm" }, ...children));
    case "th":
    case "td":
      return make(node.tag, { class: ALIGNED[node.align] }, ...children);
    case "pre":
      return make("pre", { tabindex: "0" }, ...children);
    default:
      return make(node.tag, {}, ...children);
  }
}

function buildLink(href, children) {
  return make("a", { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

// Elements from data. Texts of sessions become text nodes only, so no text can become markup.

export const by = (id) => document.getElementById(id);

// Controls of the writing direction and invisible characters, as in `dashboard/views/visible.py`.
const INVISIBLE =
  /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{61c}\u{180e}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{d800}-\u{dfff}\u{feff}\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return String(text)
    .replaceAll("\r\n", "\n")
    .replace(INVISIBLE, (it) => {
      const code = it.codePointAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return `\\${code > 0xffff ? "U" : "u"}${code.toString(16).padStart(code > 0xffff ? 8 : 4, "0")}`;
    });
}

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((it) => it !== null && it !== undefined).map((it) => (it instanceof Node ? it : visible(it))));
  return element;
}

const INLINE = /(`+)([^`\n]+)\1|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*/g;

function inline(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    const [, , code, strong, emphasis] = match;
    parts.push(code ? make("code", {}, code) : strong ? make("strong", {}, strong) : make("em", {}, emphasis));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)].filter((it) => it !== "");
}

const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

// A small part of Markdown: fenced code, headings, lists, code, strong and emphasis. All else is text.
export function markdown(text) {
  const said = make("div", { class: "said", dir: "auto" });
  let open = null; // the paragraph or list that the next line may continue
  let fence = null;
  for (const line of String(text).split(/\r\n|\n/)) {
    if (fence) {
      if (line.trim().startsWith(fence.mark) && !line.trim().replaceAll(fence.mark[0], "")) fence = null;
      else fence.pre.append(visible(line), "\n");
      continue;
    }
    const start = /^\s*(`{3,}|~{3,})[^`]*$/.exec(line);
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    const item = ITEM.exec(line);
    if (start) {
      fence = { mark: start[1], pre: make("pre", { tabindex: "0", role: "group", "aria-label": "Code" }) };
      said.append(fence.pre);
      open = null;
    } else if (!line.trim()) {
      open = null;
    } else if (heading) {
      said.append(make("p", {}, make("strong", {}, ...inline(heading[1]))));
      open = null;
    } else if (item) {
      const tag = item[1] ? "OL" : "UL";
      if (open?.tagName !== tag) said.append((open = make(tag, item[1] ? { start: item[1] } : {})));
      open.append(make("li", { dir: "auto" }, ...inline(item[2])));
    } else {
      const parent = open?.lastElementChild?.tagName === "LI" ? open.lastElementChild : open;
      if (parent) parent.append("\n", ...inline(line).map((it) => (it instanceof Node ? it : visible(it))));
      else said.append((open = make("p", { dir: "auto" }, ...inline(line))));
    }
  }
  return said;
}

const isObject = (it) => it !== null && typeof it === "object" && !Array.isArray(it);

function cell(value) {
  const nested = value !== null && typeof value === "object" ? tableOf(value) : null;
  if (nested) return make("td", {}, nested);
  const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : value;
  return make("td", { dir: "auto" }, text);
}

function tableOf(value) {
  if (Array.isArray(value) && value.length && value.every(isObject)) {
    const names = [...new Set(value.flatMap(Object.keys))];
    const head = make("tr", {}, ...names.map((it) => make("th", { scope: "col" }, it)));
    const rows = value.map((row) => make("tr", {}, ...names.map((it) => cell(row[it]))));
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  }
  if (!isObject(value) || !Object.keys(value).length) return null;
  const rows = Object.entries(value).map(([name, it]) => make("tr", {}, make("th", { scope: "row" }, name), cell(it)));
  return make("table", {}, make("tbody", {}, ...rows));
}

// Data of a result: a table for an object or a list of objects, and the JSON.
export function data(value) {
  const json = make("pre", { tabindex: "0", role: "group", "aria-label": "JSON" }, JSON.stringify(value, null, 2));
  const table = tableOf(value);
  if (!table) return json;
  const scroll = make("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": "Table of the result" }, table);
  return make("div", {}, scroll, make("details", {}, make("summary", {}, "Show as JSON"), json));
}

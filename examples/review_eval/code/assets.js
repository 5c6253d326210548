"use strict";

const fs = require("node:fs/promises");
const path = require("node:path");

const ROOT = "/srv/assets";
const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript" };

async function sendAsset(request, response) {
  const file = path.join(ROOT, decodeURIComponent(request.url));
  const body = await fs.readFile(file);
  response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
  response.end(body);
}

async function removeDraft(request, response) {
  await fs.unlink(path.resolve(ROOT, "drafts", request.params.name));
  response.writeHead(204);
  response.end();
}

async function listDrafts(_request, response) {
  const names = await fs.readdir(path.join(ROOT, "drafts"));
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(names));
}

module.exports = { listDrafts, removeDraft, sendAsset };

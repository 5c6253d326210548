"use strict";

const { exec, execFile } = require("node:child_process");
const { promisify } = require("node:util");

const run = promisify(exec);
const runFile = promisify(execFile);

async function checkOut(folder, branch) {
  const { stdout } = await run(`git checkout ${branch}`, { cwd: folder });
  return stdout.trim();
}

async function pack(folder, name) {
  await run("tar -czf /srv/packages/" + name + ".tar.gz .", { cwd: folder });
  return `/srv/packages/${name}.tar.gz`;
}

async function currentCommit(folder) {
  const { stdout } = await runFile("git", ["rev-parse", "HEAD"], { cwd: folder });
  return stdout.trim();
}

module.exports = { checkOut, currentCommit, pack };

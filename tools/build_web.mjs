// Builds the portal's pages and packs them into one file, which goes into the program (src/portal/assets.cpp).
//
//   node tools/build_web.mjs WEB_DIRECTORY BUILD_DIRECTORY BUNDLE
//
// Packages come as web/package-lock.json pins them, into BUILD_DIRECTORY. Where they cannot be had (no network) the bundle is
// empty: the program then has no pages, says so, and serves its API. A mistake in the pages themselves fails the build.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const longest = 300_000;  // ms that a program may take: a registry that never answers does not hold up a build
const [web, build, bundle] = process.argv.slice(2);
const types = {
  html: "text/html;charset=utf-8", js: "text/javascript;charset=utf-8", css: "text/css;charset=utf-8",
  svg: "image/svg+xml", json: "application/json",
};

function run(program, args) {
  const done = spawnSync(program, args, { cwd: build, encoding: "utf8", timeout: longest, env: { ...process.env, NODE_ENV: "production" } });
  if (done.status === 0) return;
  const said = `${done.error ?? ""}${done.stdout ?? ""}${done.stderr ?? ""}`.trim().split("\n");
  throw new Error(`${program} ${args.join(" ")}:\n${said.slice(0, 12).join("\n")}`);
}

function install() {
  const lock = readFileSync(join(web, "package-lock.json"), "utf8");
  const stamp = join(build, ".installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  rmSync(stamp, { force: true });
  run("npm", ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"]);
  writeFileSync(stamp, lock);
}

function files(directory, prefix = "") {
  return readdirSync(directory).sort().flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? files(path, `${prefix}/${name}`) : [[`${prefix}/${name}`, path]];
  });
}

function pack() {
  const parts = [], lines = [];
  for (const [name, path] of files(join(build, "dist"))) {
    const content = readFileSync(path), small = gzipSync(content, { level: 9 });
    const tag = createHash("sha256").update(content).digest("hex").slice(0, 16);
    lines.push(`${name} ${types[name.split(".").pop()] ?? "application/octet-stream"} ${tag} ${small.length}`);
    parts.push(small);
  }
  writeFileSync(bundle, Buffer.concat([Buffer.from(lines.join("\n") + "\n\n"), ...parts]));
  return lines;
}

mkdirSync(build, { recursive: true });
for (const name of readdirSync(web)) {
  if (["node_modules", "dist", "tests"].includes(name)) continue;
  rmSync(join(build, name), { recursive: true, force: true });
  cpSync(join(web, name), join(build, name), { recursive: true });
}
try {
  install();
} catch (problem) {
  console.error(`${problem.message}\nThe portal's pages were not built: minke portal will serve its API alone. To try again: rm ${bundle}`);
  writeFileSync(bundle, "");
  process.exit(0);
}
rmSync(join(build, "dist"), { recursive: true, force: true });
run(process.execPath, [join(build, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"]);
pack();

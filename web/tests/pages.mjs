// Looks at the portal's pages in a browser, as a person would, and prints what it saw as one line of JSON.
//
//   node pages.mjs URL RUNNING_JOB WAITING_JOB
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [url, running, waiting] = process.argv.slice(2);
const origin = new URL(url).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const seen = { said: [], barriers: [], dialogs: 0 };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

function watch(page) {
  page.setDefaultTimeout(60000);
  page.on("console", (message) => {
    // A refused request is no mistake of a page's.
    if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource")) seen.said.push(message.text());
  });
  page.on("pageerror", (problem) => seen.said.push(String(problem)));
  page.on("dialog", (dialog) => { ++seen.dialogs; void dialog.dismiss(); });
}

const context = await browser.newContext({ locale: "en-CA" });
const page = await context.newPage();
watch(page);
const begin = Date.now();
await page.goto(url);
await page.waitForSelector("table");
seen.home_ms = Date.now() - begin;
seen.address = page.url();

// What is asked before the page's program is there is what the page asks: nothing is asked twice.
seen.asked = {};
for (const [path, first] of [["/", "/api/v1/home"], ["/jobs", "/api/v1/jobs"], [`/jobs/${running}`, `/api/v1/jobs/${running}`], ["/cluster", "/api/v1/cluster"]]) {
  const asked = [];
  const note = (request) => asked.push(new URL(request.url()).pathname);
  page.on("request", note);
  await page.goto(origin + path);
  await page.waitForSelector("main table, main dl");
  page.off("request", note);
  seen.asked[path] = [asked.filter((one) => one === "/api/v1/session").length, asked.filter((one) => one === first).length];
}

// Names are texts.
await page.goto(`${origin}/jobs/${running}`);
await page.waitForSelector("h1 .badge");
seen.title = await page.textContent("h1 bdi");
seen.made_of_names = await page.locator("h1 b, h1 script, dd script, pre script").count();
await page.waitForSelector("pre");
seen.output = await page.textContent("pre");

// What changes is seen without a reload.
await page.goto(`${origin}/jobs?sort=-id`);
await page.waitForSelector("tbody tr");
seen.listed = await page.locator("tbody tr td:first-child").allTextContents();
await page.goto(`${origin}/jobs/${waiting}`);
await page.click("text=Release");
await page.click(".ask button");
await page.waitForSelector(".badge.run, .badge.good");

// A form writes a script, hears what would come of it, and submits it.
await page.goto(`${origin}/new`);
await page.fill("#wish-name", "written");
await page.fill("#wish-time", "5");
await page.fill("#wish-memory", "50");
await page.fill("#wish-command", "echo written by a form");
seen.script = await page.inputValue("#wish-script");
await page.waitForSelector("p.good");
await page.fill("#wish-time", "never");
await page.waitForSelector("p.problem");
await page.fill("#wish-time", "5");
await page.waitForSelector("p.good");
await page.click("button.main");
await page.waitForSelector("h1 .badge.good");
await page.waitForFunction(() => document.querySelector("pre")?.textContent === "written by a form\n");

// For everybody: light and dark, English and French, with a screen reader.
const state = await context.storageState();
for (const [colorScheme, locale] of [["light", "en-CA"], ["dark", "fr-CA"]]) {
  const other = await browser.newContext({ storageState: state, colorScheme, locale, bypassCSP: true });
  const looked = await other.newPage();
  watch(looked);
  for (const path of ["/", `/jobs/${running}`]) {  // records.mjs looks at the others
    await looked.goto(origin + path);
    await looked.waitForSelector("h1");
    await looked.waitForLoadState("load");
    await looked.evaluate(axe);
    const { violations } = await looked.evaluate(() => globalThis.axe.run());
    seen.barriers.push(...violations.map((one) => `${colorScheme} ${path}: ${one.id} at ${one.nodes[0].target.join(" ")}`));
  }
  seen[`language_${locale}`] = await looked.textContent("header nav a");
  await other.close();
}

await page.goto(`${origin}/jobs/${running}`);
await page.click("button.danger");
await page.click(".ask button");
await page.waitForSelector(".badge.off");
await page.click("text=Log out");
await page.waitForSelector("input[name=token]");
console.log(JSON.stringify(seen));
await browser.close();

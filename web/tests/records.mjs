// Looks at the pages of runs, and then at every page, and prints what it saw as one line of JSON.
//
//   node records.mjs URL NODE JOB USER
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [url, node, job, user] = process.argv.slice(2);
const origin = new URL(url).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const seen = { said: [], barriers: [], dialogs: 0, too_wide: [], made_of_names: 0, obeyed: [] };

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
await page.goto(url);
await page.waitForSelector("h1");

// Two runs are ranked, chosen, and stand side by side; what was chosen stands in the address.
await page.goto(`${origin}/compare?metric=val_acc`);
await page.waitForSelector("tbody tr");
seen.ranked = await page.locator("tbody td:nth-child(2)").allTextContents();
for (const box of await page.locator("tbody input[type=checkbox]").all()) await box.check();
await page.waitForSelector("table.sides td.best");
seen.best = await page.textContent("td.best");
seen.address = page.url();
seen.rows = Object.fromEntries(await page.locator("table.sides tbody tr:not(.group)").evaluateAll((rows) =>
  rows.map((row) => [row.querySelector("th").textContent, [...row.querySelectorAll("td")].map((cell) => cell.textContent)])));
await page.waitForSelector(".uplot");
const chosen = new URL(page.url()).pathname + new URL(page.url()).search;

// For everybody: light and dark, English and French, on a telephone, with a screen reader.
const state = await context.storageState();
for (const [colorScheme, locale, viewport] of [["light", "en-CA", { width: 360, height: 800 }], ["dark", "fr-CA", { width: 1280, height: 900 }]]) {
  const other = await browser.newContext({ storageState: state, colorScheme, locale, viewport, bypassCSP: true });
  const looked = await other.newPage();
  watch(looked);
  for (const path of ["/", "/jobs?all=1", "/jobs?list=ended&all=1", `/jobs/${job}`, "/new", chosen, "/accounts", "/storage", "/cluster", `/cluster/${node}`, `/people/${user}`, "/admin",
    "/nothing/here"]) {
    await looked.goto(origin + path);
    await looked.waitForSelector("h1");
    await looked.waitForFunction(() => ![...document.querySelectorAll("p.quiet")].some((one) => /^(Loading|Chargement)…$/.test(one.textContent)));
    if (await looked.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) seen.too_wide.push(`${locale} ${path}`);
    seen.made_of_names += await looked.locator("main b, main script").count();
    // Characters that a terminal or a browser would obey, in what is shown and in what a screen reader says.
    const obeyed = await looked.evaluate(() => /[\u001b\u202a-\u202e\u2066-\u2069]/.test(document.title + document.body.innerHTML));
    if (obeyed) seen.obeyed.push(path);
    await looked.evaluate(axe);
    const { violations } = await looked.evaluate(() => globalThis.axe.run());
    seen.barriers.push(...violations.map((one) => `${colorScheme} ${path}: ${one.id} at ${one.nodes[0].target.join(" ")}`));
    if (process.env.PICTURES) await looked.screenshot({ path: `${process.env.PICTURES}/${path.split("?")[0].replaceAll("/", "_")}-${colorScheme}.png`, fullPage: true });
  }
  await other.close();
}
console.log(JSON.stringify(seen));
await browser.close();

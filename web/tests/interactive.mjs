// Starts a terminal by its form, opens it, types into it and ends it, as a person would; prints what was seen as JSON.
//
//   node interactive.mjs URL DIRECTORY
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [url, directory] = process.argv.slice(2);
const origin = new URL(url).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const seen = { said: [], barriers: [] };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ locale: "en-CA" });
function watch(page) {
  page.setDefaultTimeout(60000);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource")) seen.said.push(message.text());
  });
  page.on("pageerror", (problem) => seen.said.push(String(problem)));
}
const page = await context.newPage();
watch(page);
await page.goto(url);
await page.click("nav >> text=Interactive");
await page.click("button:has-text('Terminal')");
await page.fill("#field-directory", directory);
await page.fill("#app-time", "5");
await page.fill("#app-memory", "300M");
await page.click("form button.main");
const link = page.locator("article.session a.button");
await link.waitFor();
const [terminal] = await Promise.all([context.waitForEvent("page"), link.click()]);
watch(terminal);
await terminal.waitForSelector(".xterm-screen");
await terminal.waitForFunction(() => document.getElementById("state").textContent === "");
await terminal.click("#terminal");
await terminal.keyboard.type("echo $((6 * 7)) > typed; stty size > size\n");
seen.place = new URL(terminal.url()).hostname;
seen.title = await terminal.title();
// What its page may not do: ask the portal as the person.
seen.stolen = await terminal.evaluate(async (portal) => {
  const answers = [];
  for (const base of [portal, location.origin])
    answers.push(await fetch(`${base}/api/v1/session`, { credentials: "include" }).then((answer) => answer.status, () => "refused"));
  return [...answers, document.cookie];
}, origin);

const state = await context.storageState();
for (const [colorScheme, locale] of [["light", "en-CA"], ["dark", "fr-CA"]]) {
  const other = await browser.newContext({ storageState: state, colorScheme, locale, bypassCSP: true });
  const looked = await other.newPage();
  for (const path of ["/interactive?app=tensorboard", "/sessions"]) {
    await looked.goto(origin + path);
    await looked.waitForSelector(path === "/sessions" ? "tbody tr" : "article.session a.button");
    await looked.evaluate(axe);
    const { violations } = await looked.evaluate(() => globalThis.axe.run());
    seen.barriers.push(...violations.map((one) => `${colorScheme} ${path}: ${one.id} at ${one.nodes[0].target.join(" ")}`));
  }
  await other.close();
}
await page.click("article.session button:has-text('End')");
await page.waitForSelector("article.session .badge:has-text('Ended')");
await page.click("article.session button:has-text('Forget')");
await page.waitForSelector("article.session", { state: "detached" });
await page.goto(`${origin}/sessions`);
await page.waitForSelector("tbody tr");
seen.sessions = await page.locator("tbody tr").count();
await browser.close();
console.log(JSON.stringify(seen));

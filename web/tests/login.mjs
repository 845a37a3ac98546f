// Logs in at a shared portal as a person would, wrongly and rightly, and prints what it saw as one line of JSON.
//
//   node login.mjs URL USER
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [url, user] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const seen = { said: [], barriers: [], asked: [] };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ locale: "en-CA", bypassCSP: true });
const page = await context.newPage();
page.setDefaultTimeout(60000);
page.on("pageerror", (problem) => seen.said.push(String(problem)));

async function look() {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  seen.barriers.push(...violations.map((one) => `${one.id} at ${one.nodes[0].target.join(" ")}`));
}
async function logIn(password, code) {
  await page.fill("input[name=user]", user);
  await page.keyboard.press("Enter");
  await page.waitForSelector("input[name=answer][type=password]");
  seen.asked.push((await page.textContent("form label")).trim());
  await look();
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.waitForSelector("input[name=answer][type=text]");
  seen.asked.push((await page.textContent("form label")).trim());
  await page.keyboard.type(code);
  await page.keyboard.press("Enter");
}

await page.goto(url);
await page.waitForSelector("input[name=user]");
await look();
await logIn("wrong", "42");
await page.waitForFunction(() => document.querySelector("[role=alert]")?.textContent);
seen.refused = await page.textContent("[role=alert]");
await logIn("right", "42");
await page.waitForSelector("header nav a");
seen.user = await page.textContent("header .user");
await page.waitForSelector("h1");
await page.click("text=Log out");
await page.waitForSelector("input[name=user]");
console.log(JSON.stringify(seen));
await browser.close();

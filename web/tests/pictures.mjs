// Takes the pictures of docs/portal.md: each page, light and dark. It prints their names and sizes as one line of JSON.
//
//   node pictures.mjs URL DIRECTORY PAGES NAMES
//
// PAGES: {"home": "/", …}. NAMES: what stands in answers of this machine, and what the pictures show in its place, so
// that they are the same whoever makes them.
import { chromium } from "playwright-core";
import { writeFileSync } from "node:fs";

const [url, directory, pages, names] = process.argv.slice(2);
const origin = new URL(url).origin;
const made = {};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function rename(route) {
  if (route.request().url().endsWith("/events")) return route.continue();  // it does not end
  const answer = await route.fetch();
  let body = await answer.text();
  for (const [here, there] of JSON.parse(names)) body = body.replaceAll(here, there);
  return route.fulfill({ response: answer, body });
}

// Chromium writes WebP, which Playwright does not.
const drawing = await (await browser.newContext()).newPage();
const webp = (png) => drawing.evaluate(async (content) => {
  const image = new Image();
  image.src = `data:image/png;base64,${content}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
  return [...new Uint8Array(await blob.arrayBuffer())];
}, png.toString("base64"));

const viewport = { width: 1100, height: 960 };
const context = await browser.newContext({ locale: "en-CA", viewport });
const page = await context.newPage();
await page.goto(url);
await page.waitForSelector("h1");
const state = await context.storageState();
for (const colorScheme of ["light", "dark"]) {
  const other = await browser.newContext({ storageState: state, locale: "en-CA", timezoneId: "UTC", colorScheme, viewport, reducedMotion: "reduce" });
  await other.route("**/api/v1/**", rename);
  const looked = await other.newPage();
  for (const [name, path] of Object.entries(JSON.parse(pages))) {
    await looked.goto(origin + path);
    await looked.waitForSelector("h1");
    if (name === "new") {
      for (const [field, value] of [["name", "train"], ["time", "12:00:00"], ["memory", "16G"], ["command", "python train.py --lr 0.1"]])
        await looked.fill(`#wish-${field}`, value);
      await looked.waitForSelector("p.good");
    }
    await looked.waitForFunction(() => ![...document.querySelectorAll("p.quiet")].some((one) => /^Loading…$/.test(one.textContent)));
    await looked.evaluate(() => document.fonts.ready);
    const picture = Buffer.from(await webp(await looked.screenshot()));
    writeFileSync(`${directory}/${name}-${colorScheme}.webp`, picture);
    made[`${name}-${colorScheme}`] = picture.length;
  }
  await other.close();
}
console.log(JSON.stringify(made));
await browser.close();

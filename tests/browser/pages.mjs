// pages.mjs <node_modules> <chromium> <page>…: what a person does with report.html, in a real browser.
// Values and number of marks, sorting, searching, zooming, the keyboard, two widths, light and dark, no script, axe-core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, chromium, ...pages] = process.argv.slice(2);
const require = createRequire(join(modules, "index.js"));
const playwright = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });

/** Opens a page that may ask nobody for anything, and must have nothing to complain about. */
async function open(path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", message => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", error => complaints.push(String(error)));
  page.on("dialog", dialog => { complaints.push(`a dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", request => request.url().startsWith("file:") || request.url().startsWith("data:") || complaints.push(`asks for ${request.url()}`));
  await page.goto(pathToFileURL(path).href);
  return { page, complaints, close: () => context.close() };
}

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] }));
  return found.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`);
}

const visibleRows = page => page.locator("#table tbody tr:visible");
const column = async (page, key) => page.$$eval("#table tbody tr", (rows, name) => rows.map(row => +row.dataset[name]), key);

async function checkTable(page, profile) {
  const rows = await page.$$eval("#table tbody tr", all => all.length);
  const wanted = new Set();
  for (const stage of profile.stages)
    for (const group of stage.kernel_groups ?? []) if ((group.own_ns ?? group.total_ns) > 0) wanted.add(`${stage.name}\n${group.op_name}\n${group.kernel_name}`);
  if (wanted.size > 0) assert.equal(rows, Math.min(1000, wanted.size), "a row a kernel and operator");
  for (const key of ["share", "calls", "launch"]) {
    await page.click(`#table th[data-key=${key}] button`);
    const down = await column(page, key);
    assert.deepEqual(down, [...down].sort((a, b) => b - a), `sorted by ${key}`);
    await page.focus(`#table th[data-key=${key}] button`);
    await page.keyboard.press("Enter");
    const up = await column(page, key);
    assert.deepEqual(up, [...up].sort((a, b) => a - b), `sorted by ${key} the other way, by keyboard`);
  }
  const first = await page.$eval("#table tbody tr td:nth-child(2)", cell => cell.firstChild.textContent);
  await page.fill("#search", first);
  const found = await visibleRows(page).count();
  assert.ok(found >= 1 && found <= rows, "the search finds what is there");
  await page.fill("#search", "no kernel has this name");
  assert.equal(await visibleRows(page).count(), 0);
  await page.click("#whole");
  assert.equal(await visibleRows(page).count(), rows, "the whole is shown again");
}

async function checkIcicle(page) {
  const widths = () => page.$$eval("#icicle a", all => all.filter(one => one.style.display !== "none").map(one => +one.querySelector("rect").getAttribute("width")));
  const before = await widths();
  const block = page.locator("#icicle a").nth(1);
  await block.focus();
  await page.keyboard.press("Enter");
  const after = await widths();
  assert.ok(Math.max(...after) >= Math.max(...before) - 1 && after.length <= before.length, "zoomed in");
  assert.ok((await visibleRows(page).count()) > 0, "what was chosen has rows");
  await page.click("#whole");
  assert.deepEqual(await widths(), before, "zoomed out");
}

async function checkFigures(page, profile) {
  const text = await page.textContent("main");
  if (profile.throughput.tokens_median_per_s) assert.ok(text.includes("tokens/s"));
  assert.equal(await page.$$eval("ol.wins li", all => all.length), profile.findings.recommendations.length, "every recommendation");
  const tokens = profile.throughput.tpot.by_token_ns;
  if (tokens?.length > 1)
    assert.equal((await page.getAttribute("svg[aria-label='time of every token'] polyline", "points")).split(" ").length, tokens.length, "a point a token");
  const counted = profile.stages.flatMap(stage => stage.counters?.kernels ?? []).filter(kernel => kernel.intensity_flops_per_byte > 0 && kernel.achieved_flops_per_s > 0);
  assert.equal(await page.$$eval("circle", all => all.length), profile.ceilings.measured_flops_per_s ? counted.length : 0, "a dot a counted kernel");
}

let failed = 0;
for (const path of pages) {
  const profile = JSON.parse(readFileSync(join(dirname(path), "profile.json"), "utf8"));
  for (const [width, height] of [[1400, 1000], [420, 800]])
    for (const colorScheme of ["light", "dark"]) {
      const { page, complaints, close } = await open(path, { viewport: { width, height }, colorScheme });
      try {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off at the side");
        await checkFigures(page, profile);
        if (await page.$("#icicle")) {
          await checkTable(page, profile);
          await checkIcicle(page);
        }
        const bad = await violations(page);
        assert.deepEqual(bad, [], "axe-core");
        assert.deepEqual(complaints, [], "complaints of the browser");
      } catch (error) {
        failed += 1;
        console.log(`${path}, ${width} px, ${colorScheme}: ${error.message}`);
      }
      await close();
    }
  const { page, close } = await open(path, { javaScriptEnabled: false });
  if (await page.locator("#kernels").count()) assert.ok(await page.locator("#table tbody tr").first().isVisible(), "readable without a script");
  await close();
}
await browser.close();
console.log(failed === 0 ? `${pages.length} pages passed` : `${failed} failures`);
process.exit(failed === 0 ? 0 : 1);

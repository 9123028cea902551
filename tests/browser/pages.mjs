// pages.mjs <node_modules> <chromium> <page>…: what a person does with report.html, compare.html and models.html, in a real
// browser. Values and number of marks, sorting, searching, zooming, the keyboard, two widths, light and dark, no script, axe-core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkReport } from "./report_checks.mjs";

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
  const address = pathToFileURL(path).href;
  page.on("request", request => request.url() === address || request.url().startsWith("data:") || complaints.push(`asks for ${request.url()}`));
  await page.goto(address);
  return { page, complaints, close: () => context.close() };
}

/** By axe-core, all rules of WCAG AA or what `options` leaves of them. */
async function violations(page, options) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(chosen => globalThis.axe.run(document, { resultTypes: ["violations"], ...chosen }), options);
  return found.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`);
}

const wcagAa = { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] };
const onlyContrast = { runOnly: { type: "rule", values: ["color-contrast"] } };  // most of axe's time
const allButContrast = { ...wcagAa, rules: { "color-contrast": { enabled: false } } };

/** On a phone the table's rows are cards that hold every value, and bars can be seen; what scrolls sideways can be reached, and shows that it scrolls. */
async function checkPhone(page) {
  const cut = await page.evaluate(() => {
    const found = [];
    for (const cell of document.querySelectorAll("#table tbody tr:not([hidden], .folded) td")) {
      const box = cell.getBoundingClientRect();
      if (cell.textContent !== "" && (box.width === 0 || box.left < 0 || box.right > innerWidth || cell.scrollWidth > Math.ceil(box.width))) found.push(cell.textContent);
    }
    for (const bar of document.querySelectorAll("svg.wf rect:not(.back), svg.wf .value")) {
      const box = bar.getBoundingClientRect();
      if (box.left < 0 || box.right > innerWidth) found.push(`a bar of a waterfall, ${bar.textContent}`);
    }
    for (const one of document.querySelectorAll("main *")) {
      if (one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).overflowX === "visible") continue;
      const isShown = one.matches(".scroll[tabindex='0']") && getComputedStyle(one).backgroundImage.includes("gradient");
      if (!isShown || one.querySelector("#table")) found.push(`${one.tagName} ${one.className} ${one.getAttribute("aria-label") ?? ""} scrolls`);
    }
    return found;
  });
  assert.deepEqual(cut, [], "cut off, or scrolls without a hint");
}

/** All rows that no search leaves out, nothing to press, and dark ink on white, also for whom the screen is dark. */
async function checkPaper(page) {
  assert.equal(await page.locator("#table tbody tr:not([hidden]):visible").count(), await page.locator("#table tbody tr:not([hidden])").count(), "every row is printed");
  assert.equal(await page.locator(".tools button:visible, #search:placeholder-shown:visible, #found:visible").count(), 0, "nothing to press");
  const colours = () => page.evaluate(() => [...document.querySelectorAll("body, section, p, h2, td, svg text, svg rect, svg path, .meter, .split i, .wf *")].map(one => {
    const style = getComputedStyle(one);
    return `${one.tagName} ${style.color} ${style.backgroundColor} ${style.fill} ${style.stroke}`;
  }));
  const light = await colours();
  assert.ok(light[0].includes("rgb(255, 255, 255)"), `the page is white: ${light[0]}`);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const dark = await colours();
  const other = dark.filter((one, index) => one !== light[index]);
  assert.deepEqual(other, [], "the same colours on paper, whatever the screen has");
}

const documentBeside = (path, name) => JSON.parse(readFileSync(join(dirname(path), name), "utf8"));

async function checkCompare(page, path) {
  const document = documentBeside(path, "compare.json");
  const title = await page.textContent("h1");
  for (const side of [document.a, document.b]) assert.ok(title.includes(side.name.split("/").at(-1)), "names as title");
  const changed = figures => figures.filter(figure => (figure.a !== null || figure.b !== null) && figure.a !== figure.b).length;
  const rows = label => page.$$eval("[aria-label]", (all, wanted) =>  // no selector: names may hold anything
    all.filter(one => one.ariaLabel === wanted).reduce((sum, one) => sum + one.querySelectorAll("tbody tr").length, 0), label);
  assert.equal(await rows("figures of the whole run"), changed(document.figures), "a row a figure that differs");
  for (const stage of document.stages) {
    assert.equal(await rows(`kernels of ${stage.name}`), Math.min(100, stage.kernels?.rows.length ?? 0), "a row a kernel");
    assert.equal(await rows(`operators of ${stage.name}`), Math.min(60, stage.operators.length), "a row an operator");
  }
  assert.equal(await page.$$eval("svg.wf", all => all.length), document.stages.filter(stage => stage.kernels).length, "a picture a stage with kernels");
  const coloured = await page.$$eval(".worse, .better", all => all.length);
  assert.equal(coloured > 0, basename(dirname(path)) === "larger", "colours where the same work costs more, and only there");
}

async function checkModels(page, path) {
  const document = documentBeside(path, "models.json");
  assert.equal(await page.$$eval("table a", all => all.length), document.rows.length, "a row a pair, with its report");
  assert.equal(await page.$$eval(".rates i", all => all.length), document.rows.filter(row => row.tokens_median_per_s > 0).length, "a bar a rate");
}

const checks = { "report.html": checkReport, "compare.html": checkCompare, "models.html": checkModels };
let failed = 0;

/** Everything at one width in one scheme, and then what other ways of reading can change. */
async function checkPage(path) {
  const began = performance.now();
  const { page, complaints, close } = await open(path, { viewport: { width: 1400, height: 1000 }, colorScheme: "light" });
  const at = async (where, check) => {
    try {
      await check();
    } catch (error) {
      failed += 1;
      console.log(`${path}, ${where}: ${error.message}`);
    }
  };
  const fits = async () => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off at the side");
  await at("1400 px", async () => { await fits(); await checks[basename(path)](page, path); });
  if (isOneOfAKind(path)) await checkOtherWays(path, page, at, fits);
  await at("all the time", async () => {
    assert.deepEqual(complaints, [], "complaints of the browser");
    assert.equal(await page.evaluate(() => window.wasRun), undefined, "no name is a program");
  });
  await close();
  console.log(`${basename(dirname(path))}/${basename(path)}: ${Math.round(performance.now() - began)} ms`);
}

/** Of runs as they were recorded only the values are others than those of the pages that were made of them. */
const isOneOfAKind = path => basename(dirname(dirname(path))) !== "recorded";

/** Other widths and schemes, for what they can change; on paper; without a script. */
async function checkOtherWays(path, page, at, fits) {
  const isAccessible = options => async () => assert.deepEqual(await violations(page, options), [], "axe-core");
  await at("1400 px, light", isAccessible(wcagAa));
  await page.emulateMedia({ colorScheme: "dark" });
  await at("1400 px, dark", isAccessible(onlyContrast));
  for (const width of [800, 320, 420]) {
    await page.setViewportSize({ width, height: 800 });
    await at(`${width} px`, async () => { await fits(); await checkPhone(page); });
  }
  await at("420 px", isAccessible(allButContrast));
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.setViewportSize({ width: 718, height: 1000 });  // A4 within margins of 10 mm
  await at("printed", async () => {
    await fits();
    assert.deepEqual(await page.$$eval("details > :not(summary)", all => all.filter(one => !one.checkVisibility()).map(one => one.tagName)), [], "folded parts are unfolded");
    await page.reload();  // as it was before somebody unfolded the table
    await checkPaper(page);
  });
  const plain = await open(path, { javaScriptEnabled: false });
  await at("without a script", async () => {
    assert.ok(await plain.page.locator("section").first().isVisible(), "readable");
    if (await plain.page.locator("#table").count()) assert.ok(await plain.page.locator("#table tbody tr").last().isVisible(), "its table, too");
    await plain.page.setViewportSize({ width: 420, height: 800 });
    await checkPhone(plain.page);
  });
  await plain.close();
}

const waiting = [...pages];
const work = async () => { for (let path = waiting.shift(); path; path = waiting.shift()) await checkPage(path); };
await Promise.all([work(), work()]);
await browser.close();
console.log(failed === 0 ? `${pages.length} pages passed` : `${failed} failures`);
process.exit(failed === 0 ? 0 : 1);

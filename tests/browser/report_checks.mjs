// What a person does with report.html, and what it must show then: every figure of its cards and of its table as
// profile.json has it, the rows of exactly the block that was clicked, of exactly the words that were searched.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { barsOf, blocksOf, cardsOf, headingOf, rowsOf, textsOf } from "./expected_report.mjs";
import * as show from "./formats.mjs";

const visibleRows = page => page.$$eval("#table tbody tr", all => all.filter(row => row.checkVisibility()).map(row => +row.dataset.test));
const ascending = values => [...values].sort((a, b) => a - b);

async function checkCards(page, profile, verdict) {
  const cards = await page.$$eval(".card", all => all.map(card => {
    const change = [...card.querySelectorAll("span:not(.quiet)")].map(one => one.textContent).join("");
    return [card.firstChild.textContent, card.querySelector("b").textContent, change, card.querySelector("span.quiet").textContent];
  }));
  assert.deepEqual(cards, cardsOf(profile, verdict), "label, value, change and note of each card");
  const headings = await page.$$eval("section:first-of-type h3", all => all.map(one => one.firstChild.textContent.trim()));
  assert.deepEqual(headings, profile.stages.map(stage => headingOf(profile, stage)), "a heading a stage, with its time");
}

/** The verdict, its stage and its first cause. */
async function checkBanner(page, verdict) {
  assert.equal(await page.locator(".banner").count(), verdict ? 1 : 0, "a banner where there is a verdict");
  if (!verdict) return;
  const text = await page.textContent(".banner"), isBad = verdict.exit_code === 1;
  assert.equal(await page.textContent(".banner b"), verdict.verdict, "the verdict's word");
  assert.equal(await page.locator(".banner.bad").count(), isBad ? 1 : 0, "its colour");
  const judged = verdict.stages.filter(stage => stage.verdict === verdict.verdict && stage.numbers);
  const deciding = judged.find(stage => text.includes(stage.stage));
  assert.ok(deciding, `one of the stages that are ${verdict.verdict} is named`);
  const { lower_95_ratio: low, upper_95_ratio: high, slowdown_ratio: middle, baseline_runs_count: before, candidate_runs_count: after } = deciding.numbers;
  const [shownLow, shownMiddle, shownHigh] = [low, middle, high].map(ratio => show.fixed(100 * ratio, 1));
  const sentence = `is ${shownMiddle} % slower (90 % CI ${shownLow} to ${shownHigh} %; ${before} + ${after} runs)`;
  if (isBad) assert.ok(text.includes(sentence), `'${sentence}' is in: ${text}`);
  const first = deciding.attribution?.causes[0];
  if (isBad && first) assert.ok(text.includes(`First cause: ${first.text}`), `${first.text} is in: ${text}`);
  const coloured = await page.$$eval(".card", all => all.filter(card => card.querySelector("span.bad")).length);
  assert.equal(coloured, verdict.stages.filter(stage => stage.verdict === "regressed" && stage.numbers).length, "a card a stage that regressed");
}

/** Dots, points, bars: as many as the document has things. */
async function checkMarks(page, profile) {
  assert.equal(await page.locator("ol.wins li, ul.surer li").count(), profile.findings.recommendations.length, "every recommendation");
  const tokens = profile.throughput.tpot.by_token_ns ?? [];
  const points = await page.$$eval("svg[aria-label='time of every token'] polyline", all => all.flatMap(one => one.getAttribute("points").split(" ")));
  assert.equal(points.length, tokens.length > 1 && profile.throughput.decode_tokens_count != null ? tokens.length : 0, "a point a token");
  const highest = points.reduce((best, point, index) => (+point.split(",")[1] < +points[best].split(",")[1] ? index : best), 0);
  if (points.length > 0) assert.equal(points[highest].split(",")[1], points[tokens.indexOf(Math.max(...tokens))].split(",")[1], "the slowest token is the highest");
  const counted = profile.stages.flatMap(stage => stage.counters?.kernels ?? []).filter(kernel => kernel.intensity_flops_per_byte > 0 && kernel.achieved_flops_per_s > 0);
  assert.equal(await page.locator("circle").count(), profile.ceilings.measured_flops_per_s ? counted.length : 0, "a dot a counted kernel");
  const strips = (profile.timeline.strips ?? []).filter(strip => strip.rows.length > 0);
  const drawn = await page.$$eval("svg.strip", all => all.map(one => {
    const rows = [];
    for (const mark of one.children) {
      if (mark.tagName === "text" && mark.getAttribute("x") === "0") rows.push(0);
      if (mark.tagName === "rect") rows[rows.length - 1] += 1;
    }
    return rows;
  }));
  assert.deepEqual(drawn, strips.map(barsOf), "bars of each row of each strip");
}

async function checkRows(page, rows) {
  const total = rows.length, hasCounters = rows.some(row => row.bound !== "");
  await page.$$eval("#table tbody tr", all => all.forEach((row, index) => { row.dataset.test = index; }));
  const folded = (await visibleRows(page)).length;
  assert.ok(folded === total || (total > 30 && folded === 25), "a long table is folded");
  if (folded < total) await page.click("#more");
  assert.equal((await visibleRows(page)).length, total, "unfolded");
  const cells = await page.$$eval("#table tbody tr", all => all.map(row => {
    const [stage, name, ...others] = row.cells;
    return [stage.textContent, name.title || name.firstChild.textContent, name.querySelector("small")?.textContent ?? "", ...others.map(cell => cell.textContent)];
  }));
  assert.equal(cells.length, total, "a row a kernel and operator");
  rows.forEach((row, index) => {
    const [stage, name, ...figures] = textsOf(row, hasCounters), [shownStage, shownName, ...shownFigures] = cells[index];
    assert.deepEqual([shownStage, ...shownFigures], [stage, ...figures], `row ${index + 1}`);
    const [head, tail] = shownName.length < name.length ? shownName.split("…") : [name, ""];
    assert.ok(shownName === name || (name.startsWith(head) && name.endsWith(tail)), `${shownName} is the name of row ${index + 1}, ${name}`);
  });
}

/** By each column both ways, by mouse and by keyboard, as what the column shows. */
async function checkSorting(page) {
  const heads = await page.$$eval("#table th[data-key]", all => all.map(one => [one.dataset.key, one.cellIndex, one.getAttribute("aria-sort")]));
  assert.deepEqual(heads.filter(([, , order]) => order), [["own", 2, "descending"]], "sorted by own time from the start");
  for (const [key, cell] of heads.slice(1).concat([heads[0]])) {
    const shown = async () => (await page.$$eval("#table tbody tr", (all, at) => all.map(row => row.cells[at].textContent), cell)).map(show.shownValue);
    await page.click(`#table th[data-key=${key}] button`);
    const down = await shown();
    assert.deepEqual(down, ascending(down).reverse(), `sorted by ${key}`);
    await page.focus(`#table th[data-key=${key}] button`);
    await page.keyboard.press("Enter");
    const up = await shown();
    assert.deepEqual(up, ascending(down), `sorted by ${key} the other way, by keyboard`);
    assert.deepEqual(await page.$$eval("#table th[aria-sort]", all => all.map(one => [one.dataset.key, one.getAttribute("aria-sort")])), [[key, "ascending"]]);
  }
  await page.click("#table th[data-key=own] button");
}

/** Exactly the rows that hold every word somewhere. */
async function checkSearch(page, rows) {
  const texts = await page.$$eval("#table tbody tr", all => Object.fromEntries(all.map(row => [row.dataset.test,
    [...row.querySelectorAll("td, td *")].flatMap(one => [...one.childNodes].filter(part => part.nodeType === 3).map(part => part.textContent)).concat(row.cells[1].title)])));
  const last = rows.at(-1), word = (last.kernel || last.op).match(/\w{3,}/)?.[0] ?? last.op;
  const capital = Object.values(texts).flat().map(text => /\w*[A-Z]\w{2,}/.exec(text)?.[0]).find(Boolean) ?? word;
  for (const words of [word, `${rows[0].stage} ${word}`, capital.toLowerCase(), (rows[0].op || rows[0].kernel).toUpperCase(), "no kernel has this name", `${word} and no other`]) {
    await page.fill("#search", words);
    const wanted = Object.keys(texts).filter(row => words.toLowerCase().split(/\s+/).filter(Boolean).every(one => texts[row].some(text => text.toLowerCase().includes(one))));
    assert.deepEqual(ascending(await visibleRows(page)), ascending(wanted.map(Number)), `the rows with '${words}'`);
    const told = wanted.length === rows.length ? "" : `${wanted.length} of ${rows.length}`;
    assert.equal(await page.textContent("#found"), told, "how many were found");
  }
  await page.click("#whole");
  assert.equal((await visibleRows(page)).length, rows.length, "the whole is shown again");
}

async function drawnBlocks(page) {
  const drawn = await page.$$eval("#icicle a", all => all.map(one => {
    const rect = one.querySelector("rect"), label = one.querySelector("text").textContent;
    return { isShown: one.checkVisibility(), x: +rect.getAttribute("x"), width: +rect.getAttribute("width"), title: one.querySelector("title").textContent, label };
  }));
  for (const { label, title } of drawn) assert.ok(!label.startsWith("…."), `${title} is cut to ${label}, with a dot behind the ellipsis`);
  return drawn;
}

/** Places, widths and titles by profile.json. */
function compareBlocks(drawn, blocks, whole) {
  assert.equal(drawn.length, blocks.length, "a block a stage, operator and kernel");
  blocks.forEach((block, index) => {
    const { x, width, title, isShown } = drawn[index], scale = whole / 1000;
    assert.ok(isShown && Math.abs(x / scale - block.x) < 0.11 && Math.abs(width / scale - block.width) < 0.11, `block ${index + 1}, ${title}, is at ${block.x}, ${block.width} wide`);
    const own = block.rows.reduce((total, row) => total + row.own, 0), share = block.rows.reduce((total, row) => total + row.share, 0);
    assert.ok(title.endsWith(`: ${show.duration(own)}, ${show.percent(share)} of ${block.rows[0].stage}`), `${title} of ${block.label}`);
    if (block.rows[0].kernel !== block.label) assert.ok(title.startsWith(`${block.label}: `), `${title} is ${block.label}`);
  });
}

/** A block that is chosen fills the width; only what it is part of and its parts remain, and of the table its rows. */
async function checkChosen(page, index, blocks, table, whole, said) {
  const block = blocks[index], after = await drawnBlocks(page);
  assert.ok(Math.abs(after[index].x) < 0.01 && Math.abs(after[index].width - whole) < 0.01, `${said}: it fills the width`);
  const related = blocks.map(other => other.rows.some(row => block.rows.includes(row)));
  assert.deepEqual(after.map(one => one.isShown), related, `${said}: what it is part of and its parts remain`);
  const rows = block.rows.map(row => table.indexOf(row)).filter(at => at >= 0);
  assert.deepEqual(ascending(await visibleRows(page)), ascending(rows), `${said}: exactly its rows`);
}

/** Some by mouse and by keyboard, and back again; all of them by an event of the program. */
async function checkIcicle(page, blocks, table) {
  const whole = await page.$eval("#icicle", one => one.viewBox.baseVal.width), before = await drawnBlocks(page);
  compareBlocks(before, blocks, whole);
  const marks = page.locator("#icicle a");
  for (const [index, how] of [[0, "click"], [blocks.length - 1, "Enter"], [blocks.length >> 1, " "]]) {
    if (how === "click") await marks.nth(index).locator("rect").click({ position: { x: 1, y: 10 } });
    else { await marks.nth(index).focus(); await page.keyboard.press(how); }
    await checkChosen(page, index, blocks, table, whole, `${before[index].title}, by '${how}'`);
    if (how === "click") await page.click("#whole");
    else { await page.focus("#whole"); await page.keyboard.press("Enter"); }
    assert.deepEqual(await drawnBlocks(page), before, "zoomed out");
    assert.equal((await visibleRows(page)).length, table.length, "all rows again");
  }
  for (let index = 0; index < blocks.length; ++index) {
    await marks.nth(index).dispatchEvent("click");
    await checkChosen(page, index, blocks, table, whole, before[index].title);
  }
  await page.click("#whole");
}

/** No text of the roofline lies on another, by what each of their letters covers; for a crowd of long ones there is no room. */
async function checkLabels(page) {
  const overlaps = await page.$$eval("svg[aria-label=roofline]", all => all.flatMap(svg => {
    const boxes = [...svg.querySelectorAll("text")].filter(text => text.textContent.length <= 30).map(text => {
      const matrix = text.getCTM(), letters = [];
      for (let i = 0; i < text.getNumberOfChars(); ++i) {
        const { x, y, width, height } = text.getExtentOfChar(i);
        const middle = new DOMPoint(x + width / 2, y + height / 2).matrixTransform(matrix), half = Math.abs(matrix.a) * width / 2 + 0.1;
        letters.push({ left: middle.x - half, right: middle.x + half, top: middle.y - matrix.d * height * 0.3, bottom: middle.y + matrix.d * height * 0.3 });
      }
      return { what: text.textContent, letters };
    });
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return boxes.flatMap((one, at) => boxes.slice(at + 1).filter(other => one.letters.some(a => other.letters.some(b => meet(a, b)))).map(other => `${one.what} and ${other.what}`));
  }));
  assert.deepEqual(overlaps, [], "texts of the roofline that overlap");
}

/** A dot leads to its kernel's row, by keyboard and by mouse; the last one lies on top of the others. */
async function checkDots(page) {
  const dots = page.locator("circle[data-find]");
  if ((await dots.count()) === 0) return;
  for (const [dot, act] of [[dots.first(), one => one.focus().then(() => page.keyboard.press("Enter"))], [dots.last(), one => one.click()]]) {
    const name = await dot.getAttribute("data-find");
    await act(dot);
    assert.equal(await page.inputValue("#search"), name, "a dot fills the search");
    const found = await page.$$eval("#table tbody tr:not([hidden])", all => all.map(row => row.cells[1].textContent));
    assert.ok(found.length > 0 && found.every(text => text.includes(name)), `${found} are ${name}`);
    await page.click("#whole");
  }
}

export async function checkReport(page, path) {
  const read = name => JSON.parse(readFileSync(join(dirname(path), name), "utf8"));
  const profile = read("profile.json"), verdict = existsSync(join(dirname(path), "verdict.json")) ? read("verdict.json") : null;
  await checkCards(page, profile, verdict);
  await checkBanner(page, verdict);
  await checkMarks(page, profile);
  const { stages, table } = rowsOf(profile), blocks = blocksOf(stages);
  assert.equal(await page.locator("#icicle").count(), blocks.length > 0 ? 1 : 0, "an icicle where there is something to draw");
  if (blocks.length === 0) return;
  await checkRows(page, table);
  await checkSorting(page);
  await checkSearch(page, table);
  await checkIcicle(page, blocks, table);
  await checkDots(page);
  for (const width of [420, 1000, 1400]) {
    await page.setViewportSize({ width, height: 1000 });
    await checkLabels(page);
  }
}

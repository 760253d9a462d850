// Opens Dwindle's pages in Chromium and checks what a person would meet there.
//
// usage: browser.mjs '{"name": "URL", ...}' SCREENSHOT_DIR
// `chain` and `fan-out` are request pages; `list` is the page that leads to `fan-out`, `real` the
// one that leads to `chain`. A line "ok - NAME" or "not ok - NAME: why" for each test.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const pages = JSON.parse(process.argv[2]);
const folder = process.argv[3];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const widths = [360, 1280, 3840];
const themes = ['light', 'dark'];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});

let failures = 0;
async function test(name, body) {
  try {
    await body();
    console.log(`ok - ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`not ok - ${name}: ${String(error.message ?? error).replaceAll('\n', ' ').slice(0, 900)}`);
  }
}

function none(what, found) {
  if (found.length) throw new Error(`${what}: ${found.join('; ')}`);
}

/** Opens `url` and hands the page to `body`; anything that the browser complains about fails. */
async function visit(url, options, body) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const complaints = [];
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('response', (r) => r.status() >= 400 && complaints.push(`${r.status()} ${r.url()}`));
    page.on('requestfailed', (r) => complaints.push(`failed ${r.url()}`));
    page.on('request', (r) => new URL(r.url()).host === new URL(url).host || complaints.push(`foreign ${r.url()}`));
    const answer = await page.goto(url, { waitUntil: 'load' });
    const policy = (await answer.allHeaders())['content-security-policy'] ?? '';
    if (!policy.includes("default-src 'none'") || policy.includes('unsafe')) complaints.push(`policy "${policy}"`);
    await body(page);
    none('the browser complains', complaints);
  } finally {
    await context.close();
  }
}

/** Presses Tab until `selector` matches what has the focus. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 300; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
  }
  throw new Error(`300 times Tab did not reach ${selector}`);
}

/** The last part of a request page's address: TRACE/REQUEST. */
const tail = (url) => new URL(url).pathname;

for (const [name, url] of Object.entries(pages)) {
  for (const width of widths) {
    for (const colorScheme of themes) {
      await test(`${name} at ${width}, ${colorScheme}: loads clean, nothing scrolls sideways`, async () => {
        const height = width > 2000 ? 2160 : 900;
        await visit(url, { viewport: { width, height }, colorScheme }, async (page) => {
          await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: width < 2000 });
          const over = await page.evaluate(() =>
            document.documentElement.scrollWidth - document.documentElement.clientWidth);
          if (over > 0) throw new Error(`${over} px wider than the window`);
        });
      });
      if (width === 3840) continue;
      await test(`${name} at ${width}, ${colorScheme}: axe finds nothing serious`, async () => {
        await visit(url, { viewport: { width, height: 900 }, colorScheme }, async (page) => {
          await page.evaluate(() => document.querySelectorAll('details').forEach((d, i) => { d.open = i < 4; }));
          await page.evaluate(axe);
          const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
          const serious = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact));
          none('axe', serious.map((v) => `${v.id} ×${v.nodes.length} (${v.nodes[0].html.slice(0, 160)})`));
        });
      });
    }
  }
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';
  await test(`keyboard, ${how}: from the list to the request, to the culprit's row, and open it`, async () => {
    await visit(pages.list, { javaScriptEnabled }, async (page) => {
      await tabTo(page, `a[href*="${tail(pages['fan-out'])}"]`);
      await page.keyboard.press('Enter');
      await page.waitForURL((u) => u.pathname === tail(pages['fan-out']));
      if (javaScriptEnabled) {
        await page.keyboard.press('c');
        const on = await page.evaluate(() => document.activeElement?.matches('.cul > summary'));
        if (!on) throw new Error('`c` did not go to the culprit');
      } else {
        await tabTo(page, '.cul > summary');
      }
      await page.keyboard.press('Enter');
      await page.locator('details.cul[open]').first().waitFor();
      const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      if (ring === 'none') throw new Error('the focused row has no outline');
      await page.screenshot({ path: `${folder}/culprit-open-${javaScriptEnabled ? 'script' : 'plain'}.png`, fullPage: true });
    });
  });

  await test(`the SDK's chain, ${how}: sentence, culprit, surfaced, verdicts, where a budget was read`, async () => {
    await visit(pages.chain, { javaScriptEnabled }, async (page) => {
      const lead = await page.locator('.lead').innerText();
      for (const words of ['Missed its 1,000', 'pricing', '496']) {
        if (!lead.replaceAll('\u00a0', ' ').includes(words)) throw new Error(`"${words}" is not in "${lead}"`);
      }
      const rows = (await page.locator('.hop > summary').allInnerTexts()).map((r) => r.replace(/\s+/g, ' '));
      const wanted = [['client', 'exceeded downstream'], ['orders', 'exceeded downstream'],
        ['inventory', 'exceeded downstream'], ['pricing', 'exceeded here']];
      none('rows', wanted.filter((words, i) => !words.every((w) => rows[i]?.includes(w))).map((w) => `${w} not in ${rows}`));
      const culprit = page.locator('.hop.cul').first();
      await culprit.locator('> summary').click();
      const body = (await culprit.innerText()).replaceAll('\u00a0', ' ');
      for (const words of ['deadline.remaining_in_ms', 'host.name', 'pricing-1']) {
        if (!body.includes(words)) throw new Error(`"${words}" is not in the opened row`);
      }
    });
  });
}

// The picture of the README: from the sentence to the waterfall's last row.
await test('the picture for the README', async () => {
  await visit(pages['fan-out'], { viewport: { width: 1280, height: 900 } }, async (page) => {
    const top = await page.locator('.crumb').boundingBox();
    const rows = await page.locator('.wf').boundingBox();
    const clip = { x: 0, y: top.y - 12, width: 1280, height: rows.y + rows.height - top.y + 24 };
    await page.screenshot({ path: `${folder}/readme.png`, fullPage: true, clip });
  });
});

await browser.close();
process.exitCode = failures ? 1 : 0;

// What the browser's tests share: a browser, tests that are counted, and checks for any page.
//
// Every module is started as `node MODULE '{"name": "URL", ...}' SCREENSHOT_DIR` and prints a line
// "ok - NAME" or "not ok - NAME: why" for each test.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const pages = JSON.parse(process.argv[2]);
export const folder = process.argv[3];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const widths = [360, 1280, 3840];
export const themes = ['light', 'dark'];

mkdirSync(folder, { recursive: true });
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});

export async function test(name, body) {
  try {
    await body();
    console.log(`ok - ${name}`);
  } catch (error) {
    console.log(`not ok - ${name}: ${String(error.message ?? error).replaceAll('\n', ' ').slice(0, 900)}`);
  }
}

export function none(what, found) {
  if (found.length) throw new Error(`${what}: ${found.join('; ')}`);
}

/** Whether the browser itself gave a request up, as it does with what a page still loads when the reader goes on. */
function givenUp(request) {
  return request.failure()?.errorText === 'net::ERR_ABORTED';
}

/** Opens `url` and hands the page to `body`; anything that the browser complains about fails. */
export async function visit(url, options, body) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const complaints = [];
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('response', (r) => r.status() >= 400 && complaints.push(`${r.status()} ${r.url()}`));
    page.on('requestfailed', (r) => givenUp(r) || complaints.push(`failed ${r.url()}: ${r.failure()?.errorText}`));
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
export async function tabTo(page, selector) {
  for (let presses = 0; presses < 300; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
  }
  throw new Error(`300 times Tab did not reach ${selector}`);
}

/** Tests of any page: it loads clean at every width in both themes, and axe finds nothing serious. */
export async function loadsClean(name, url, { fullPage = true } = {}) {
  for (const width of widths) {
    for (const colorScheme of themes) {
      await test(`${name} at ${width}, ${colorScheme}: loads clean, nothing scrolls sideways`, async () => {
        const height = width > 2000 ? 2160 : 900;
        await visit(url, { viewport: { width, height }, colorScheme }, async (page) => {
          await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: fullPage && width < 2000 });
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

// Opens Dwindle's pages in Chromium and checks what a person would meet there.
//
// `chain` and `fan-out` are request pages; `list` is the page that leads to `fan-out`, `real` the
// one that leads to `chain`.

import { browser, folder, loadsClean, none, pages, tabTo, test, visit } from './page.mjs';

/** The last part of a request page's address: TRACE/REQUEST. */
const tail = (url) => new URL(url).pathname;

for (const [name, url] of Object.entries(pages)) await loadsClean(name, url);

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

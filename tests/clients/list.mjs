// The list of requests as a person uses it: completion, form, heads, keys.
//
// `list` shows the samples.

import { browser, none, pages, test, visit } from './page.mjs';

const list = `${new URL(pages.list).origin}/requests`;
const rows = (page) => page.locator('table.req tbody tr').count();

await test('completion, by keyboard alone: a field, a comparison, a value, and it filters', async () => {
  await visit(list, {}, async (page) => {
    const all = await rows(page);
    await page.keyboard.press('f');
    await page.keyboard.type('outc');
    await page.locator('#filter-choices li').first().waitFor();
    await page.keyboard.press('ArrowDown');
    const active = await page.getAttribute('#filter', 'aria-activedescendant');
    if (await page.locator(`#${active}`).getAttribute('aria-selected') !== 'true') throw new Error('nothing is chosen');
    await page.keyboard.press('Enter');
    if (await page.inputValue('#filter') !== 'outcome ') throw new Error(`"${await page.inputValue('#filter')}"`);
    await page.keyboard.type('=mis');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    if (await page.inputValue('#filter') !== 'outcome =missed') throw new Error(`"${await page.inputValue('#filter')}"`);
    await page.keyboard.press('Escape');
    await Promise.all([page.waitForURL(/q=outcome/), page.keyboard.press('Enter')]);
    const missed = await rows(page);
    if (!(missed > 0 && missed < all)) throw new Error(`${missed} of ${all} rows`);
    const outcomes = await page.locator('table.req tbody td:nth-child(2)').allInnerTexts();
    none('other outcomes', outcomes.filter((text) => !text.includes('missed')));
  });
});

await test('completion: the mouse takes a choice, Escape closes, what is typed stays', async () => {
  await visit(list, {}, async (page) => {
    await page.click('#filter');
    await page.keyboard.type('culprit.ser');
    await page.locator('#filter-choices li').first().click();
    if (await page.inputValue('#filter') !== 'culprit.service ') throw new Error(await page.inputValue('#filter'));
    await page.locator('#filter-choices:not([hidden])').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#filter-choices').waitFor({ state: 'hidden' });
    if (await page.getAttribute('#filter', 'aria-expanded') !== 'false') throw new Error('still expanded');
    if (await page.inputValue('#filter') !== 'culprit.service ') throw new Error('the text changed');
  });
});

await test('completion knows the names of services, and so does the form', async () => {
  await visit(list, {}, async (page) => {
    await page.click('#filter');
    await page.keyboard.type('culprit.service=fra');
    const first = page.locator('#filter-choices li').first();
    await first.waitFor();
    if (!(await first.innerText()).startsWith('fraud')) throw new Error(await first.innerText());
    const offered = await page.locator('#services option').evaluateAll((all) => all.map((one) => one.value));
    if (!offered.includes('pricing')) throw new Error(`the form offers ${offered}`);
  });
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';
  await test(`the form and the heads, ${how}: fewer rows, in another order, kept in the address`, async () => {
    await visit(list, { javaScriptEnabled }, async (page) => {
      const all = await rows(page);
      await page.click('.fform summary');
      await page.selectOption('select[name=outcome]', 'missed');
      await page.fill('input[name=used]', '100');
      await Promise.all([page.waitForURL(/outcome=missed/), page.locator('.fform button').click()]);
      const some = await rows(page);
      if (!(some > 0 && some < all)) throw new Error(`${some} of ${all} rows`);
      await Promise.all([page.waitForURL(/sort=-elapsed/), page.getByRole('link', { name: 'elapsed, ms' }).click()]);
      if (!page.url().includes('used=100')) throw new Error(`the form is lost: ${page.url()}`);
      const times = (await page.locator('table.req tbody td:nth-child(6)').allInnerTexts()).map((t) => Number(t.replaceAll(',', '')));
      if (times.some((time, i) => i && time > times[i - 1])) throw new Error(`not sorted: ${times}`);
      const sorted = await page.locator('th[aria-sort]').allInnerTexts();
      if (sorted.length !== 1 || !sorted[0].startsWith('elapsed')) throw new Error(`sorted by ${sorted}`);
    });
  });
}

await test('keys: 1 sorts by the first column, j and Enter open a row', async () => {
  await visit(list, {}, async (page) => {
    await Promise.all([page.waitForURL(/sort=start/), page.keyboard.press('1')]);
    await page.keyboard.press('j');
    const href = await page.evaluate(() => document.activeElement.getAttribute('href'));
    await Promise.all([page.waitForURL(`**${href}`), page.keyboard.press('Enter')]);
  });
});

await browser.close();

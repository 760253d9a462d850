// The request's page as a person uses it: zoom, clocks, folds, finding, a trace of 100,000 spans,
// names that were made to break it; and all of it without script.
//
// `fan-out` is a request of a few hops with a retry; `skewed` one with a clock that is off; `large`
// one of 100,000 spans, of which item.id=item-4321 is far down; `hostile` one with names of all kinds.

import { browser, folder, loadsClean, pages, test, visit } from './page.mjs';

const plain = (text) => text.replaceAll('\u00a0', ' ');
const range = (page) => page.locator('#wf .state').innerText().then(plain);
const params = (page) => Object.fromEntries(new URL(page.url()).searchParams);
const path = (url) => new URL(url).pathname;

/** Waits until `check` holds in the page. */
const until = (page, check, argument) => page.waitForFunction(check, argument, { timeout: 15_000 });
const shown = (page, words) => until(page, (w) => document.querySelector('#wf .state')?.innerText.replaceAll('\u00a0', ' ').includes(w), words);

function equal(what, found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`);
}

for (const name of ['skewed', 'hostile']) await loadsClean(name, pages[name]);
await loadsClean('large', pages.large, { fullPage: false }); // a picture of a million pixels is none
await loadsClean('zoomed-raw', `${pages.skewed}?clock=raw&from=5&to=80`);
await loadsClean('found', `${pages['fan-out']}?find=postgresql`);
await loadsClean('compared', `${pages['fan-out']}/compare`);

await test('zoom by keyboard: closer, wider, around the deadline, fit; back and forth', async () => {
  await visit(pages['fan-out'], {}, async (page) => {
    equal('nothing is zoomed', await range(page), '');
    await page.keyboard.press('+');
    await until(page, () => new URL(location.href).searchParams.has('from'));
    const first = params(page);
    await shown(page, 'Showing');
    if (!(await page.locator('#wf .strip .frame').count())) throw new Error('the strip does not frame what is shown');
    await page.keyboard.press('+');
    await until(page, (from) => new URL(location.href).searchParams.get('from') !== from, first.from);
    await page.keyboard.press('-');
    await until(page, (from) => new URL(location.href).searchParams.get('from') === from, first.from);
    await page.keyboard.press('d');
    await shown(page, 'Showing 1,350 to 1,650 ms');
    await page.screenshot({ path: `${folder}/request-deadline.png`, fullPage: true });
    await page.keyboard.press('0');
    await until(page, () => !document.querySelector('#zoom-fit'));
    equal('fit says nothing', params(page), {});
    await page.goBack();
    await shown(page, 'Showing 1,350 to 1,650 ms');
  });
});

await test('zoom by drag over the bars and over the strip; a click on a bar still opens its row', async () => {
  await visit(pages['fan-out'], {}, async (page) => {
    const drag = async (selector, from, to) => {
      const box = await page.locator(selector).first().boundingBox();
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + from * box.width, y);
      await page.mouse.down();
      await page.mouse.move(box.x + to * box.width, y, { steps: 5 });
      if (!(await page.locator('.shade').count())) throw new Error('nothing shows what is chosen');
      await page.mouse.up();
    };
    const whole = await page.locator('#wf .wf-head .c-bar').getAttribute('data-to');
    await drag('#wf .lines summary .c-bar', 0.25, 0.5);
    await shown(page, 'Showing');
    const about = (value, share) => Math.abs(Number(value) - share * Number(whole)) < 0.02 * Number(whole);
    const { from, to } = params(page);
    if (!about(from, 0.25) || !about(to, 0.5)) throw new Error(`${from} to ${to} of ${whole}`);
    if (await page.locator('details[open]').count()) throw new Error('the drag opened a row');
    await drag('#wf .strip .c-bar', 0.5, 0.9);
    await until(page, (old) => new URL(location.href).searchParams.get('from') !== old, from);
    const of = params(page);
    if (!about(of.from, 0.5) || !about(of.to, 0.9)) throw new Error(`the strip: ${of.from} to ${of.to} of ${whole}`);
    await page.locator('#wf .lines summary .c-bar').first().click();
    await page.locator('details[open]').first().waitFor();
  });
});

await test('a finger zooms over the bars, and the next tap still opens a row', async () => {
  const phone = { viewport: { width: 412, height: 900 }, hasTouch: true, isMobile: true };
  await visit(pages['fan-out'], phone, async (page) => {
    const touch = await page.context().newCDPSession(page);
    const bar = page.locator('#wf .lines summary .c-bar').first();
    await bar.scrollIntoViewIfNeeded();
    const box = await bar.boundingBox();
    const at = (share) => [{ x: box.x + share * box.width, y: box.y + box.height / 2 }];
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0.25) });
    for (const share of [0.3, 0.4, 0.5]) {
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(share) });
    }
    if (!(await page.locator('.shade').count())) throw new Error('nothing shows what is chosen');
    // The finger rests before it lifts: after a fling the browser takes the next tap for a stop.
    await page.waitForTimeout(300);
    await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(0.5) });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await shown(page, 'Showing');
    if (await page.locator('details[open]').count()) throw new Error('the drag opened a row');
    await bar.tap();
    await page.locator('details[open]').first().waitFor();
  });
});

await test('raw and aligned clocks at one key; open rows and the focus stay', async () => {
  await visit(pages.skewed, {}, async (page) => {
    const arrived = () => page.locator('#r1 > summary').innerText().then((text) => plain(text).match(/arrived at (\S+)/)[1]);
    const aligned = await arrived();
    await page.locator('#r1 > summary').click();
    const moved = plain(await page.locator('#r1 .body').innerText()).match(/clock was moved by \S+ ms/);
    if (!moved) throw new Error('the opened row does not say by how much its clock was moved');
    await page.keyboard.press('a');
    await shown(page, 'Raw clocks.');
    const raw = await arrived();
    if (raw === aligned) throw new Error(`it arrived at ${raw} on both clocks`);
    equal('the row is open', await page.locator('#r1').evaluate((row) => row.open), true);
    equal('the row has the focus', await page.evaluate(() => document.activeElement?.parentElement.id), 'r1');
    if (!(await page.locator('#r1 .wh').count())) throw new Error('no whisker shows the interval');
    await page.keyboard.press('a');
    await until(page, () => document.querySelector('#clock-aligned').getAttribute('aria-current'));
    equal('aligned again', await arrived(), aligned);
  });
});

await test('a subtree folds and unfolds by key and by its mark in the gutter', async () => {
  await visit(pages['fan-out'], {}, async (page) => {
    const rows = await page.locator('details.hop').count();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await until(page, () => document.activeElement?.closest('li')?.querySelector('a.tw'));
    await page.keyboard.press('ArrowLeft');
    await page.locator('.row.fold').waitFor();
    if ((await page.locator('details.hop').count()) >= rows) throw new Error('nothing was folded');
    await page.keyboard.press('ArrowRight');
    await until(page, (n) => document.querySelectorAll('details.hop').length === n, rows);
    await page.locator('a.tw').first().click();
    await until(page, () => document.querySelectorAll('details.hop').length === 1);
    const words = plain(await page.locator('.row.fold').innerText());
    if (!/\+\d+ hops, worst/.test(words)) throw new Error(words);
    await page.screenshot({ path: `${folder}/request-folded.png`, fullPage: true });
    await page.locator('.row.fold a').click();
    await until(page, (n) => document.querySelectorAll('details.hop').length === n, rows);
  });
});

await test('100,000 spans: first paint, three screens in the page, totals of the whole, found far down', async () => {
  await visit(`${pages.large}?fold=none`, {}, async (page) => {
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    console.log(`# first paint of 100,000 spans after ${Math.round(paint)} ms`);
    const totals = () => page.locator('.lt tfoot, #wf .strip .c-own').allInnerTexts();
    const before = await totals();
    const lines = () => page.locator('#wf .lines > li:not(.gap)').count();
    const screen = Math.ceil(900 / 32);
    const few = async (where) => {
      const count = await lines();
      if (count < 1 || count > 3 * screen + 2) throw new Error(`${count} lines in the page ${where}`);
    };
    const seen = () => page.evaluate(() => {
      const heads = document.querySelector('.wf-head').getBoundingClientRect().bottom;
      return [...document.querySelectorAll('#wf .lines > li:not(.gap)')].filter((li) => {
        const { top, bottom } = li.getBoundingClientRect();
        return bottom > heads && top < innerHeight;
      }).length;
    });
    await few('at first');
    for (const y of [3_000, 50_000, 400_000, 900_000, 20_000]) {
      await page.evaluate((to) => scrollTo(0, to), y);
      await until(page, () => {
        const pos = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('#wf .lines > li');
        return pos && !pos.classList.contains('gap');
      });
      await few(`at ${y} px`);
      if ((await seen()) < screen - 4) throw new Error(`${await seen()} lines are seen at ${y} px`);
      const pos = plain(await page.locator('#pos').innerText());
      if (!/^row [\d,]+ of [\d,]{5,}$/.test(pos)) throw new Error(pos);
    }
    await page.keyboard.press('/');
    await page.keyboard.type('item.id=item-4321');
    await page.keyboard.press('Enter');
    await shown(page, 'match 1 of 1');
    await page.locator('.hop.now').waitFor();
    const hit = await page.locator('.hop.now').boundingBox();
    if (hit.y < 0 || hit.y > 900) throw new Error(`the match is at ${hit.y} px`);
    await few('at the match');
    await page.keyboard.press('Escape');
    await page.locator('.hop.now > summary').focus();
    await page.keyboard.press('Enter');
    await until(page, () => document.querySelector('.hop.now .body')?.innerText.includes('item-4321'));
    await page.screenshot({ path: `${folder}/request-large.png` });
    equal('the totals', await totals(), before);
    const slow = await page.evaluate(async () => {
      const frames = [];
      let last = performance.now();
      for (let i = 0; i < 100; i += 1) {
        scrollBy(0, 90);
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
      }
      return frames.sort((a, b) => a - b);
    });
    console.log(`# frames while scrolling: median ${Math.round(slow[50])} ms, 95th of 100 ${Math.round(slow[94])} ms`);
  });
});

await test('names that were made to break the page stand in it as text', async () => {
  await visit(`${pages.hostile}?open=1`, {}, async (page) => {
    const text = await page.locator('main').innerText();
    for (const words of ['<img src=x onerror=alert(1)>', '\u{1f525}']) {
      if (!text.includes(words)) throw new Error(`"${words}" is not there as text`);
    }
    equal('images', await page.locator('main img').count(), 0);
    await page.keyboard.press('/');
    await page.keyboard.type('</script><b>');
    await page.keyboard.press('Enter');
    await shown(page, 'found nowhere');
    await page.keyboard.press('Escape'); // out of the field, where keys are letters
    await page.keyboard.press('+');
    await until(page, () => new URL(location.href).searchParams.has('from'));
  });
});

await test('JSON and OTLP are copied; the trace can be had as a file', async () => {
  await visit(pages['fan-out'], { permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
    const copied = async () => {
      await until(page, () => [...document.querySelectorAll('.copy')].some((b) => b.textContent === 'copied'));
      return JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    };
    await page.keyboard.press('y');
    const request = await copied();
    equal('the request', `/requests/${request.trace_id}/${request.request}`, path(pages['fan-out']));
    await page.waitForTimeout(2200);
    await page.locator('button[data-copy=otlp]').click();
    const trace = await copied();
    equal('spans', trace.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)).length, request.spans);
  });
});

await test('without script: zoom, clocks, folds, finding, spans and paging are links and forms', async () => {
  await visit(pages.skewed, { javaScriptEnabled: false }, async (page) => {
    await page.locator('#zoom-in').click();
    if (!(await range(page)).includes('Showing')) throw new Error('no zoom');
    await page.locator('#clock-raw').click();
    const words = await range(page);
    if (!words.includes('Raw clocks.') || !words.includes('Showing')) throw new Error(words);
    await page.locator('#zoom-fit').click();
    await page.locator('#r1 > summary').click();
    await page.locator('#r1 .spans h3 a').first().click();
    if (!params(page).span) throw new Error(page.url());
  });
  await visit(`${pages.large}?fold=none`, { javaScriptEnabled: false }, async (page) => {
    equal('rows', await page.locator('#wf .lines > li').count(), 200);
    await page.locator('.cut a', { hasText: 'next 200' }).click();
    if (!plain(await page.locator('.cut').innerText()).includes('Showing rows 201–400')) throw new Error('no next page');
    await page.locator('#find').fill('item.id=item-4321');
    await page.locator('form.find button').click();
    if (!(await range(page)).includes('match 1 of 1')) throw new Error(await range(page));
    equal('the match', await page.locator('.hop.now').count(), 1);
    await page.locator('.hop.now > summary').click();
    await Promise.all([page.waitForURL(/open=/), page.locator('.hop.now a.more').click()]);
    const body = await page.locator('details[open] .body').innerText();
    if (!body.includes('item-4321')) throw new Error('the opened row does not show its spans');
  });
  await visit(pages['fan-out'], { javaScriptEnabled: false }, async (page) => {
    await page.locator('#r0 > summary').click();
    await page.locator('#r0 .next a', { hasText: 'Fold what is below it' }).click();
    equal('rows', await page.locator('details.hop').count(), 1);
    await page.locator('.row.fold a').click();
    await page.locator('.next a', { hasText: 'compare' }).first().click();
    equal('the comparison', path(page.url()), `${path(pages['fan-out'])}/compare`);
  });
});

await browser.close();

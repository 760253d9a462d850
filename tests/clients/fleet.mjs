// The pages about many requests as a person meets them.
//
// The argument names servers: `samples`, `real` (what the SDKs sent), `empty`, `one` (one request),
// `hostile` (names of strangers), `corpus` (recorded traces; may be missing). `otlp` is where `one`
// takes spans, `another` a request for it.

import { browser, folder, loadsClean, none, pages, tabTo, test, visit } from './page.mjs';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { otlp, another, ...servers } = pages;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = ['/', '/services', '/map', '/findings', '/coverage'];

/** A page of a server, within its stretch of time. */
const at = (server, path) => {
  const url = new URL(servers[server]);
  url.pathname = path;
  return url.href;
};
const words = (text) => text.replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim();
const number = (text) => Number(words(text).replaceAll(',', ''));

function check(holds, what) {
  if (!holds) throw new Error(what);
}

/** The addresses of services, as their list has them. */
async function services(server) {
  const found = [];
  await visit(at(server, '/services'), {}, async (page) => {
    for (const link of await page.locator('main table a[data-row]').all()) found.push(await link.evaluate((a) => a.href));
  });
  return found;
}

/** A request that has a good one to be held against, as the API tells it. */
async function compared(server) {
  const requests = await fetch(at(server, '/api/v1/requests')).then((answer) => answer.json());
  for (const { trace_id, request } of requests.requests) {
    const path = `/requests/${trace_id}/${request}/compare`;
    const told = await fetch(at(server, `/api/v1${path}`)).then((answer) => answer.json());
    if (told.good) return [path, told];
  }
  return [];
}

const kept = [];
for (const server of Object.keys(servers).filter((name) => !['empty', 'one'].includes(name))) {
  const [path, told] = await compared(server);
  if (path) kept.push([server, path, told]);
}
await test('some request has a good one to be held against', async () => check(kept.length, 'there is none'));
for (const [server, path, told] of kept) {
  await loadsClean(`compared-${server}`, at(server, path));
  await test(`${server}: what a request spent more than a good one is shown hop by hop`, async () => {
    await visit(at(server, path), {}, async (page) => {
      check(await page.locator(`a[href="/requests/${told.good.trace_id}/${told.good.request}"]`).count(), 'no link to the good one');
      const rows = await page.locator('.cmp tbody tr').count();
      check(rows >= 1, 'no hop is compared');
      check(/[+−]/.test(await page.locator('.cmp tbody').innerText()), 'no difference is shown');
    });
  });
}

for (const path of PAGES) await loadsClean(`fleet${path.replace('/', '-')}samples`, at('samples', path));
const known = await services('samples').catch(() => []);
if (known.length) await loadsClean('fleet-service-samples', known[0]);

for (const server of Object.keys(servers).filter((name) => name !== 'samples')) {
  const all = PAGES.map((path) => [path, at(server, path)]);
  const some = await services(server).catch(() => []);
  // Of hostile names each has a page, and each page has to hold.
  for (const [index, url] of some.slice(0, server === 'hostile' ? 8 : 1).entries()) all.push([`/service-${index}`, url]);
  for (const [path, url] of all) {
    for (const [width, colorScheme] of [[360, 'dark'], [1280, 'light'], [3840, 'light']]) {
      const name = `${server}${path.replaceAll('/', '-')}`;
      await test(`${server} ${path} at ${width}, ${colorScheme}: clean, not too wide, axe finds nothing serious`, async () => {
        await visit(url, { viewport: { width, height: 900 }, colorScheme }, async (page) => {
          await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` });
          const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          check(over <= 0, `${over} px wider than the window`);
          if (width === 3840) return;
          await page.evaluate(axe);
          const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
          const serious = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact));
          none('axe', serious.map((v) => `${v.id} ×${v.nodes.length} (${v.nodes[0].html.slice(0, 160)})`));
        });
      });
    }
  }
}

await test('an empty store says where to send spans', async () => {
  await visit(at('empty', '/'), {}, async (page) => {
    const said = words(await page.locator('main').innerText());
    check(said.includes('No requests yet.') && said.includes('OTEL_EXPORTER_OTLP_ENDPOINT=http://'), said);
  });
});

await test('as long as there are samples alone, how to send spans stays on the overview', async () => {
  await visit(at('samples', '/'), {}, async (page) => {
    const said = words(await page.locator('main').innerText());
    check(said.includes('These are samples') && said.includes('OTEL_EXPORTER_OTLP_ENDPOINT=http://'), said);
    check(await page.locator('.tiles > div').count() === 5, 'no five tiles');
  });
});

await test('a stretch without requests names the last one and leads to it', async () => {
  const url = new URL(at('one', '/'));
  url.search = '?since=2020-01-01T00:00:00Z&until=2020-01-01T01:00:00Z';
  await visit(url.href, {}, async (page) => {
    const said = words(await page.locator('main').innerText());
    check(said.includes('No requests from 2020-01-01 00:00–01:00 UTC. The last one began at'), said);
    await page.locator('main a', { hasText: 'Show' }).click();
    check(await page.locator('.tiles').count() === 1, 'the link does not lead to a stretch with requests');
  });
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';
  await test(`two clicks, ${how}: from the overview to the guilty hop`, async () => {
    await visit(at('real', '/'), { javaScriptEnabled }, async (page) => {
      await page.locator('#worst a[data-row]').first().click();
      const culprit = page.locator('details.cul > summary').first();
      await culprit.click();
      check(words(await culprit.innerText()).includes('pricing'), await culprit.innerText());
    });
  });

  await test(`keyboard alone, ${how}: from the overview to the culprit`, async () => {
    await visit(at('real', '/'), { javaScriptEnabled }, async (page) => {
      if (javaScriptEnabled) {
        await Promise.all([page.waitForURL(/\/requests\//), page.keyboard.press('w')]);
        await page.keyboard.press('c');
        const on = await page.evaluate(() => document.activeElement?.matches('.cul > summary'));
        check(on, '`c` did not go to the culprit');
      } else {
        await tabTo(page, '#worst a[data-row]');
        await Promise.all([page.waitForURL(/\/requests\//), page.keyboard.press('Enter')]);
        await tabTo(page, '.cul > summary');
      }
    });
  });

  await test(`a cell of surfaced × spent, ${how}: opens as many requests as it counts`, async () => {
    await visit(at('samples', '/'), { javaScriptEnabled }, async (page) => {
      const cells = page.locator('.matrix tbody td:not(:last-child) a');
      const count = await cells.count();
      check(count > 1, `${count} cells`);
      const links = [];
      for (const cell of await cells.all()) links.push([number(await cell.innerText()), await cell.evaluate((a) => a.href)]);
      for (const [wanted, href] of links) {
        await page.goto(href);
        const rows = await page.locator('table.req tbody tr').count();
        check(rows === wanted, `${rows} requests, the cell says ${wanted}: ${href}`);
      }
    });
  });

  await test(`findings by rule and the order of services, ${how}: by form and link, in the address`, async () => {
    await visit(at('samples', '/findings'), { javaScriptEnabled }, async (page) => {
      const all = await page.locator('main section').count();
      await page.selectOption('#rule', 'not_propagated');
      await Promise.all([page.waitForURL(/rule=not_propagated/), page.locator('main form button').click()]);
      const rules = await page.locator('main section h2').allInnerTexts();
      check(all > 1 && rules.join() === 'not_propagated', `${rules} of ${all}`);
      await page.goto(at('samples', '/services'));
      await page.getByRole('link', { name: 'own p95, ms' }).click();
      check(page.url().includes('sort=own'), page.url());
      const own = (await page.locator('tbody td:nth-child(5)').allInnerTexts()).map(number);
      check(own.length > 2 && own.every((ms, i) => i === 0 || ms <= own[i - 1]), own.join());
    });
  });
}

await test('g and a letter goes to a page, and the stretch of time goes along', async () => {
  const url = new URL(at('samples', '/'));
  url.search = '?since=2026-10-07T09:00:00Z&until=2026-10-07T10:00:00Z';
  await visit(url.href, {}, async (page) => {
    for (const [letter, path] of [['s', '/services'], ['m', '/map'], ['f', '/findings'], ['c', '/coverage'], ['o', '/'], ['r', '/requests']]) {
      await page.keyboard.press('g');
      await Promise.all([page.waitForURL((u) => u.pathname === path), page.keyboard.press(letter)]);
      check(page.url().includes('since=2026-10-07T09'), page.url());
    }
  });
});

await test('drag over the chart zooms to these buckets; Shift with arrows and Enter does too', async () => {
  const url = new URL(at('samples', '/'));
  url.search = '?since=-15m';
  await visit(url.href, {}, async (page) => {
    const bucket = async (index) => {
      const link = page.locator('.plot .pick a').nth(index);
      const box = await link.boundingBox();
      return [box.x + box.width / 2, box.y + 40, new URL(await link.getAttribute('href'), page.url()).searchParams];
    };
    const [x0, y0, first] = await bucket(3);
    const [x1, y1, last] = await bucket(8);
    await page.mouse.move(x0, y0);
    await page.mouse.down();
    await page.mouse.move(x1, y1, { steps: 6 });
    await Promise.all([page.waitForURL((u) => u.searchParams.get('since') === first.get('since')), page.mouse.up()]);
    check(new URL(page.url()).searchParams.get('until') === last.get('until'), page.url());
    await page.goto(url.href);
    check(await page.locator('.plot .pick a').count() > 9, 'too few buckets');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    const [, , begin] = await bucket(0);
    const [, , end] = await bucket(2);
    await Promise.all([page.waitForURL((u) => u.searchParams.get('until') === end.get('until')), page.keyboard.press('Enter')]);
    check(new URL(page.url()).searchParams.get('since') === begin.get('since'), page.url());
  });
});

/** Makes the page refresh now, and waits until it has. */
async function refresh(page) {
  const path = new URL(page.url()).pathname;
  const answer = page.waitForResponse((r) => new URL(r.url()).pathname === path && r.request().resourceType() === 'fetch');
  await page.evaluate(() => dispatchEvent(new Event('dwindle:refresh')));
  await answer;
  await page.waitForFunction(() => !document.querySelector('main').hasAttribute('aria-busy'));
}

await test('a refresh brings new numbers and moves neither the focus nor what is open nor the page', async () => {
  await visit(at('one', '/'), { viewport: { width: 1280, height: 500 } }, async (page) => {
    const requests = () => page.locator('.tiles .n').first().innerText().then(number);
    const before = await requests();
    await page.locator('details.tbl > summary').first().click();
    await page.locator('#newest a[data-row]').first().focus();
    const look = () => page.evaluate(() => ({
      href: document.activeElement?.getAttribute('href'),
      same: document.activeElement === window.kept,
      top: Math.round(document.activeElement?.getBoundingClientRect().top ?? 0),
      open: document.querySelector('details.tbl').open,
    }));
    await page.evaluate(() => { window.kept = document.activeElement; });
    const was = await look();
    await fetch(`${otlp}/v1/traces`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(another) });
    for (let tries = 0; tries < 40 && await requests() === before; tries += 1) {
      await refresh(page);
      await page.waitForTimeout(250);
    }
    check(await requests() === before + 1, `${before} requests, then ${await requests()}`);
    const is = await look();
    check(is.same && is.href === was.href && is.open, JSON.stringify({ was, is }));
  });
});

await test('a refresh that fails keeps the numbers and says since when they are stale', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(at('one', '/'));
  const tile = () => page.locator('.tiles .n').first().innerText();
  const before = await tile();
  await page.route('**/*', (route) => route.abort());
  await page.evaluate(() => dispatchEvent(new Event('dwindle:refresh')));
  await page.getByText(/^stale since \d\d:\d\d:\d\d UTC$/).waitFor();
  check(await tile() === before, 'the numbers went');
  await page.unroute('**/*');
  await refresh(page);
  check(await page.locator('#fresh').innerText() === '', 'still stale');
  await context.close();
});

await test('p pauses: nothing is asked for until p again; a past stretch is never asked for anew', async () => {
  await visit(at('one', '/'), {}, async (page) => {
    await page.keyboard.press('p');
    await page.getByText(/^paused since \d\d:\d\d:\d\d UTC$/).waitFor();
    check(await page.getAttribute('#pause', 'aria-pressed') === 'true', 'not pressed');
    let asked = 0;
    page.on('request', () => { asked += 1; });
    await page.evaluate(() => dispatchEvent(new Event('dwindle:refresh')));
    await page.waitForTimeout(300);
    check(asked === 0, `${asked} requests while paused`);
    await Promise.all([page.waitForResponse(() => true), page.keyboard.press('p')]);
    const past = new URL(page.url());
    past.search = '?since=2026-10-07T09:00:00Z&until=2026-10-07T10:00:00Z';
    await page.goto(past.href);
    check(await page.locator('#live').count() === 0, 'a past stretch has a refresh');
  });
});

await browser.close();

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunningApp } from '../../support/http/app.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { openManyRequests, scrollTable } from '../../support/page/many-requests.ts'
import { browserPath, hint, lacks, type OpenedPage, openServerPage } from '../../support/page/open-page.ts'
import { alice, batchOf, endless, hostileName, meter, placeLinks, root, startPlaces } from '../../support/page/places-app.ts'
import { hasNginx, nginxHint, startNginx } from '../../support/process/nginx.ts'

const places = ['Models', 'Activity', 'Keys', 'Logs', 'Overview']

describe.skipIf(browserPath === undefined)(`the places of the page, in a browser${hint}`, () => {
  let started: Awaited<ReturnType<typeof startPlaces>>
  let app: RunningApp
  let bare: RunningApp
  let browser: Browser
  beforeAll(async () => {
    started = await startPlaces()
    ;({ app, bare, browser } = started)
  })
  afterAll(() => started?.close())

  const ask = (path: string, body: object, key = alice) => started.post(path, body, key)
  const chat = (content: string, more: object = {}) =>
    ask('/v1/chat/completions', { model: 'default', messages: [{ role: 'user', content }], ...more })
  const open = (place: string, { key = root, ...view }: Parameters<typeof openServerPage>[2] = {}) =>
    openServerPage(browser, `${app.url}/#/${place}`, { key, ...view })
  const noProblems = ({ strangers, problems }: OpenedPage) => expect([...strangers, ...problems]).toEqual([])

  test('without requests, keys or lines, places teach how there will be some', async () => {
    const opened = await openServerPage(browser, `${bare.url}/#/activity`)
    const { page, close } = opened
    await page.getByRole('heading', { name: 'No request yet' }).waitFor()
    await page.getByText(`curl ${bare.url}/v1/chat/completions`).waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('heading', { name: 'No key yet' }).waitFor()
    await page.getByText('server.adminKey').waitFor()
    await page.goto(`${bare.url}/#/logs?level=fatal`)
    await page.getByRole('heading', { name: 'No line of this level yet' }).waitFor()
    noProblems(opened)
    await close()
  })

  test.each([false, true])('have no barriers, and ask no other origin (dark: %s)', async (isDark) => {
    await (await chat('hello')).text()
    const opened = await open('models/fleet%2Fecho', { isDark })
    const { page, close } = opened
    for (const place of places) {
      await page.getByRole('link', { name: place, exact: true }).click()
      await page.getByRole('heading', { name: place, level: 1 }).waitFor()
      if (place === 'Activity') await page.getByRole('row').nth(1).click()
      expect([place, ...(await findBarriers(page))]).toEqual([place])
    }
    noProblems(opened)
    await close()
  })

  test.each([
    [root, places],
    [alice, ['Models', 'Activity']],
    [meter, ['Overview']],
  ])('a key sees the places that its scopes allow', async (key, names) => {
    const { page, close } = await open(names[0]?.toLowerCase() ?? '', { key })
    await page.getByRole('heading', { name: names[0] ?? '', level: 1 }).waitFor()
    await expect.poll(async () => (await placeLinks(page)).filter((name) => places.includes(name))).toEqual(names)
    await close()
  })

  test('activity shows a request as it runs, stops it, and says who did', async () => {
    const { page, close } = await open('activity?filter=org/slow')
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const running = chat(endless, { model: 'org/slow', stream: true })
    const waiting = chat(endless, { model: 'org/slow', stream: true })
    const row = page.getByRole('row').filter({ hasText: / tokens/ })
    await row.waitFor()
    await page.getByText('waiting 1st').waitFor()
    await expect.poll(() => page.title()).toBe('2 running · Activity · Dragoman')
    await row.getByRole('button', { name: 'Stop' }).click()
    await (await running).text()
    await page.getByText('cancelled by admin').waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: / tokens/ })
      .getByRole('button', { name: 'Stop' })
      .click()
    await (await waiting).text()
    await close()
  })

  test.skipIf(lacks('downloads'))(
    'activity shows batches with their progress, stops one, and saves the results of another',
    async () => {
      const create = async (...contents: readonly string[]) =>
        (await (await ask('/v1/messages/batches', batchOf(contents))).json()) as { id: string }
      const done = await create('One.', 'Two.')
      const { page, close } = await open('activity', { key: alice })
      const line = ({ id }: { id: string }) => page.getByRole('listitem').filter({ hasText: id })
      await line(done).getByText('2 of 2').waitFor()
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        line(done).getByRole('button', { name: 'Save results' }).click(),
      ])
      const text = await new Response((await saved.createReadStream()) as never).text()
      expect(text).toContain('"custom_id":"1","result":{"type":"succeeded"')
      const long = await create(endless, endless)
      await line(long).getByRole('progressbar').waitFor()
      await line(long).getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('dialog').getByText('2 of its requests have no reply yet').waitFor()
      await page.keyboard.press('Enter')
      await line(long).getByText('ended').waitFor()
      await page.getByRole('link', { name: done.id }).click()
      await expect.poll(() => page.getByRole('row').count()).toBe(3)
      await close()
    },
  )

  test('all that is shown and runs is stopped after a word about what ends', async () => {
    const { page, close } = await open('activity?filter=org/slow+running')
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const running = [1, 2].map(() => chat(endless, { model: 'org/slow', stream: true }))
    await page.getByRole('button', { name: 'Stop all' }).click()
    await page.getByRole('dialog').getByText('This ends 2 running requests of 1 caller.').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('No request matches').waitFor()
    for (const reply of await Promise.all(running)) await reply.text()
    await close()
  })

  test('on a telephone nothing is out of reach: Stop is in view, and what has no column is in the open row', async () => {
    const width = 360
    const { page, close } = await open('activity?filter=org/slow', { width, height: 740 })
    const running = chat(endless, { model: 'org/slow', stream: true })
    const stop = page
      .getByRole('row')
      .filter({ hasText: / tokens/ })
      .getByRole('button', { name: 'Stop' })
    const { x = -1, width: wide = width } = (await stop.boundingBox()) ?? {}
    expect(x >= 0 && x + wide <= width).toBe(true)
    expect(await page.getByRole('columnheader', { name: 'Caller' }).count()).toBe(0)
    await page
      .getByRole('row')
      .filter({ hasText: / tokens/ })
      .click()
    const detail = page.locator('.detail')
    expect((await detail.locator('dt').allTextContents()).slice(0, 2)).toEqual(['Caller', 'Protocol'])
    const box = await detail.boundingBox()
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? width) <= width).toBe(true)
    await detail.getByRole('button', { name: 'Copy Model' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('org/slow')
    await stop.click()
    await (await running).text()
    await page.goto(`${app.url}/#/keys`)
    await page.getByRole('row').filter({ hasText: 'alice' }).click()
    await page.locator('.detail').getByText('inference').waitFor()
    await close()
  })

  test('a place that waits shows the frame of its table, and what it waits for', async () => {
    const { page, close } = await open('chat')
    let answer: () => void = () => undefined
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/api/events*', async (route) => {
      await mayAnswer
      await route.continue()
    })
    await page.getByRole('link', { name: 'Models' }).click()
    await page.getByRole('columnheader', { name: 'Memory' }).waitFor()
    await page.getByRole('status').filter({ hasText: 'Asking the server for its models' }).waitFor()
    answer()
    await page.getByRole('row').filter({ hasText: 'org/slow' }).waitFor()
    expect(await page.getByText('Asking the server for its models').count()).toBe(0)
    await close()
  })

  test('a row opens by keyboard to where the time went, at an address that opens the same', async () => {
    const { id } = (await (await chat('one two three')).json()) as { id: string }
    const { page, close } = await open('activity')
    await page.getByRole('row').nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toBe(`#/activity/${id}`)
    await page.reload()
    await page.getByText('Where the time went').waitFor()
    await page.getByText(id).waitFor()
    expect(await page.locator('.waterfall .bar .decode').count()).toBe(1)
    await close()
  })

  test.skipIf(lacks('downloads'))('filters are in the address, and what is shown is saved as lines of JSON', async () => {
    await (await chat('x', { model: 'nobody' })).text()
    const { page, close } = await open('activity')
    await page.getByRole('row').nth(1).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('state:failed nobody')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/activity?filter=state%3Afailed+nobody')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()])
    const text = await new Response((await download.createReadStream()) as never).text()
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ state: 'failed', requested_model: 'nobody', error: { code: 'model-not-found' } }])
    await close()
  })

  test('where a prompt differs from the turn before, both texts are side by side', async () => {
    const send = async (folder: string, more: readonly object[]) => {
      const messages = [{ role: 'system', content: `Folder: ${folder}` }, { role: 'user', content: 'Where are we?' }, ...more]
      return (await (await chat('', { stream: false, messages })).json()) as { id: string }
    }
    await send('/home/ada', [])
    const answer = { role: 'assistant', content: 'Here.' }
    const { id } = await send('/home/bob', [answer, { role: 'user', content: 'And now?' }])
    const { page, close } = await open(`activity/${id}`)
    const region = page.getByRole('region', { name: 'Where the prompt differs from the turn before' })
    await region.getByText('the text has changed in message 1 (another path)').waitFor()
    await expect
      .poll(() => region.getByRole('figure').allInnerTexts())
      .toEqual([
        expect.stringMatching(/^The turn before\s+Folder: \/home\/ada$/),
        expect.stringMatching(/^This turn\s+Folder: \/home\/bob$/),
      ])
    await close()
  })

  test('a request that was kept is sent again to another model', async () => {
    const { id } = (await (await chat('say this again', { stream: false })).json()) as { id: string }
    const { page, close } = await open(`activity/${id}`)
    await page.getByLabel('Replay on').selectOption('fleet/echo')
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByRole('region', { name: 'What the model answered now' }).getByText('say this again').waitFor()
    await page.getByRole('link', { name: 'Open its row' }).click()
    await page.getByRole('row').filter({ hasText: 'fleet/echo' }).first().waitFor()
    await close()
  })

  test('models are unloaded after a word about what ends, and loaded again', async () => {
    const running = chat(endless, { model: 'org/slow', stream: true })
    const { page, close } = await open('models')
    const row = page.getByRole('row').filter({ hasText: 'org/slow' })
    await row.getByText('1 of 1').waitFor()
    await row.getByRole('button', { name: 'Unload org/slow' }).click()
    await page.getByText('This ends 1 running request of 1 caller.').waitFor()
    await page.keyboard.press('Enter')
    await row.getByText('not loaded').waitFor()
    await (await running).text()
    await row.getByRole('button', { name: 'Load org/slow' }).click()
    await row.getByText('ready').waitFor()
    await close()
  })

  test('a server of a fleet is taken out of use and back, and a bad name says why it is none', async () => {
    await (await chat('hi', { model: 'fleet/echo' })).text()
    const { page, close } = await open('models/fleet%2Fecho')
    const server = page
      .getByRole('row')
      .filter({ hasText: new URL(started.replicas[0]?.url ?? '').host })
      .last()
    await server.getByText('healthy').waitFor()
    await server.getByRole('button', { name: /^Drain/ }).click()
    await page.getByText('It gets no new requests').waitFor()
    await page.keyboard.press('Enter')
    await server.getByText('out of use').waitFor()
    await server.getByRole('button', { name: /^Use again/ }).click()
    await server.getByText('healthy').waitFor()
    await page.getByRole('button', { name: 'Add a model' }).click()
    await page.getByLabel('Name or source').fill('/nowhere/model.gguf')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: '/nowhere/model.gguf' }).waitFor()
    await close()
  })

  test('a key is made, shown once, and deleted', async () => {
    const { page, close } = await open('keys')
    await page.getByRole('cell', { name: 'alice', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Make a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('alice')
    await dialog.getByRole('button', { name: 'Make a key' }).click()
    await dialog.getByRole('alert').filter({ hasText: "a key is called 'alice'" }).waitFor()
    await dialog.getByLabel('Name').fill('carol')
    await dialog.getByLabel('Requests a minute').fill('60')
    await dialog.getByLabel('tools: has the server run tools').check()
    await dialog.getByLabel('Tools and MCP servers').fill('web_search, docs')
    await dialog.getByLabel('Calls of tools a minute').fill('9')
    await page.keyboard.press('Enter')
    const key = await page.getByRole('dialog', { name: 'The key carol' }).locator('pre').textContent()
    expect((await ask('/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, key ?? '')).status).toBe(200)
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row').filter({ hasText: 'carol' })
    await row.getByText('60 requests/min, 9 calls of tools/min').waitFor()
    await row.getByText('inference, tools (web_search, docs)').waitFor()
    expect(await page.content()).not.toContain(String(key))
    await page.getByRole('button', { name: 'Delete carol' }).click()
    await page.getByText('Its callers are refused from now on.').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => row.count()).toBe(0)
    expect((await ask('/v1/chat/completions', {}, key ?? '')).status).toBe(401)
    await close()
  })

  test('the log is live, by level and words', async () => {
    const { page, close } = await open('logs?filter=nobody-else')
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    await (await chat('x', { model: 'nobody-else' })).text()
    const row = page.getByRole('row').filter({ hasText: 'request ended' })
    await row.waitFor()
    await row.click()
    await page.getByText('"requestedModel": "nobody-else"').waitFor()
    await page.getByLabel('Level').selectOption('error')
    await expect.poll(() => page.evaluate('location.hash')).toContain('level=error')
    await close()
  })

  test('a line of the log has an address that opens it in view, also far down', async () => {
    const { page, close } = await open('logs?filter=somebody-else')
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    await (await chat('x', { model: 'somebody-else' })).text()
    await page.getByRole('row').filter({ hasText: 'request ended' }).click()
    await expect.poll(() => page.evaluate('location.hash')).toMatch(/^#\/logs\/\d+-\d+\?filter=somebody-else$/)
    for (let count = 0; count < 60; count++) await (await chat('x', { model: `later-${count}` })).text()
    await page.evaluate("location.hash = location.hash.replace(/\\?.*/, '')")
    await page.reload()
    const json = page.getByText('"requestedModel": "somebody-else"')
    await expect.poll(() => json.evaluate((element) => element.getBoundingClientRect().bottom)).toBeLessThan(800)
    expect(await page.locator('.table-room').evaluate((element) => element.scrollTop)).toBeGreaterThan(0)
    await close()
  })

  test.skipIf(lacks('acts of keys'))('what a cell cuts off takes the focus near the reader, and keys move it', async () => {
    const long = `long-${'x'.repeat(2000)}-end`
    await (await chat('x', { model: long })).text()
    const { page, close } = await open(`logs?filter=${long.slice(0, 99)}`)
    await page.getByRole('row').filter({ hasText: 'request ended' }).first().waitFor()
    expect(await page.locator('td [tabindex]').count()).toBe(0)
    await page.keyboard.press('j')
    await page.locator('tr:focus').waitFor()
    await page.keyboard.press('Tab')
    const cell = page.locator('td > :focus')
    expect(await cell.textContent()).toContain('request ended')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => cell.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0)
    expect(await page.locator('td [tabindex]').count()).toBe(1)
    await close()
  })

  test.skipIf(lacks('routed requests'))('of ten thousand requests, rows near the reader are rendered, each once', async () => {
    const { page, close } = await open('chat')
    await openManyRequests(page)
    const slow = await scrollTable(page, { steps: 100, px: 96 })
    // 300 rows passed by; beside them, those that are rendered before they are seen.
    expect(slow.added).toBeGreaterThan(250)
    expect(slow.added).toBeLessThan(350)
    const fast = await scrollTable(page, { steps: 20, px: 15_000 })
    expect(fast.added).toBeLessThan(20 * 70)
    expect(Math.max(slow.most, fast.most)).toBeLessThan(70 * 25)
    expect(await page.locator('tr.opens').last().textContent()).toContain('OpenAI chat')
    await close()
  })

  test.skipIf(!hasNginx)(`behind an nginx with TLS and a prefix, places are live${nginxHint}`, async () => {
    const nginx = await startNginx(`location /llm/ { proxy_pass ${app.url}/; proxy_http_version 1.1; }`, { hasTls: true })
    const opened = await openServerPage(browser, `${nginx.url}/llm/#/activity?filter=org/slow`, { key: root })
    const { page, close } = opened
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const running = chat(endless, { model: 'org/slow', stream: true })
    const row = page.getByRole('row').filter({ hasText: / tokens/ })
    await row.getByRole('button', { name: 'Stop' }).click()
    await (await running).text()
    noProblems(opened)
    await close()
    await nginx.close()
  })

  test('names that are HTML are text', async () => {
    for (const place of ['models', 'chat']) {
      const { page, strangers, problems, close } = await openServerPage(browser, `${bare.url}/#/${place}`)
      await expect.poll(() => page.locator('body').textContent()).toContain(hostileName)
      expect(await page.locator('img[src="x"]').count()).toBe(0)
      expect(await page.evaluate('window.pwned')).toBeUndefined()
      expect([...strangers, ...problems]).toEqual([])
      await close()
    }
  })

  test('a page of another origin gets nothing', async () => {
    const { page, close } = await openServerPage(browser, bare.url)
    const got = await page.evaluate(
      `fetch(${JSON.stringify(`${app.url}/api/events`)}, { headers: { authorization: 'Bearer ${root}' } }).then((reply) => reply.status, () => 'nothing')`,
    )
    expect(got).toBe('nothing')
    await close()
  })
})

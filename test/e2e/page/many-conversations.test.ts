import { describe, expect, test } from 'vitest'
import { facts, write } from '../../support/page/chat-words.ts'
import { storeMany } from '../../support/page/kept.ts'
import { browserPath, hint } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

/** Counts the conversations whose messages are read, also until the first row is there, and the texts that are searched for `said`. */
const counters = `
  window.read = 0
  window.searched = 0
  const { getAll } = IDBObjectStore.prototype
  IDBObjectStore.prototype.getAll = function (range) {
    if (this.name === 'messages') window.read += range === undefined ? 1e6 : 1
    return getAll.call(this, range)
  }
  const { test } = RegExp.prototype
  RegExp.prototype.test = function (text) {
    if (/^said/.exec(text) !== null) window.searched += 1
    return test.call(this, text)
  }
  const { includes } = String.prototype
  String.prototype.includes = function (...words) {
    if (/^said/.exec(this) !== null) window.searched += 1
    return includes.apply(this, words)
  }
  new MutationObserver(() => {
    if (document.querySelector('a.conversation') !== null) window.readAtFirst ??= window.read
  }).observe(document, { childList: true, subtree: true })
`

describe.skipIf(browserPath === undefined)(`a thousand conversations, in a browser${hint}`, () => {
  const { open, url } = useScriptedPage()
  const openMany = async (path = '') => {
    const opened = await open()
    const { page, context } = opened
    await storeMany(page, 1000)
    await context.addInitScript(counters)
    await page.goto('about:blank')
    await page.goto(`${url()}${path}`)
    const rows = page.locator('a.conversation')
    const count = (name: string) => page.evaluate(`window.${name}`) as Promise<number>
    await rows.first().waitFor()
    return { ...opened, rows, count }
  }

  test('the list is there before most are read, and draws a hundred rows until more are asked for', async () => {
    const { page, rows, count, problems, close } = await openMany()
    expect(await count('readAtFirst')).toBeLessThanOrEqual(550)
    const more = page.locator('.conversations').getByRole('button', { name: /^Show more/ })
    await more.getByText('(650)').waitFor()
    expect(await rows.count()).toBe(100)
    expect(await rows.first().locator('.clip').textContent()).toBe('chat 999')
    await more.click()
    expect(await rows.count()).toBe(200)
    await page.getByText('Work (250)').click()
    await expect.poll(() => rows.count()).toBe(300)
    expect(await count('read')).toBe(1000)
    expect(problems).toEqual([])
    await close()
  })

  test('the one that the address names is read first, and its next answer is kept', async () => {
    const { page, count, close } = await openMany('/#/chat/c1')
    await page.locator('article').nth(3).waitFor()
    expect(await count('readAtFirst')).toBeLessThanOrEqual(550)
    await write(page, 'and more')
    await facts(page).waitFor()
    await page.reload()
    await page.locator('article').nth(5).waitFor()
    await close()
  })

  test('a search reads what was said once, after the last key, and not again while an answer comes', async () => {
    const { page, rows, count, close } = await openMany()
    await page.locator('.conversations').getByText('(650)').waitFor()
    await page.getByRole('searchbox', { name: 'Filter conversations' }).evaluate(async (field: object & EventTarget) => {
      for (const end of [1, 2, 3, 4, 5, 6, 7]) {
        Object.assign(field, { value: 'said 77'.slice(0, end) }).dispatchEvent(new Event('input', { bubbles: true }))
        await new Promise((resolve) => setTimeout(resolve, 40))
      }
    })
    await expect.poll(() => rows.count()).toBe(11)
    const searched = await count('searched')
    expect(searched).toBeLessThanOrEqual(4000)
    await write(page, 'said here')
    await facts(page).waitFor()
    expect((await count('searched')) - searched).toBeLessThan(100)
    await close()
  })
})

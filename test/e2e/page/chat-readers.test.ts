import type { Locator } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { importLargeAnswer, largeAnswer, openLargeAnswer } from '../../support/page/large-answer.ts'
import { browserPath, hint, lacks, openServerPage } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

describe.skipIf(browserPath === undefined)(`the chat of the page, for every reader and every answer${hint}`, () => {
  const { browser, open } = useScriptedPage()

  test.skipIf(lacks('a wheel'))(
    'the view stays with the end while the reader is there; Newest leads back, and what is selected stays selected',
    async () => {
      const { page, close } = await open()
      await write(page, script({ raw: 'begin. '.concat('some words of it.\n\n'.repeat(3000)), delayMs: 15 }))
      const room = page.locator('.pane-room')
      const toEnd = () => room.evaluate((element) => Math.round(element.scrollHeight - element.scrollTop - element.clientHeight))
      await expect.poll(() => room.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeGreaterThan(300)
      await expect.poll(toEnd).toBeLessThan(48)
      await page.evaluate('getSelection().selectAllChildren(document.querySelector("article.answer .md p"))')
      await room.hover()
      await page.mouse.wheel(0, -250)
      await page.getByRole('button', { name: 'Newest' }).waitFor()
      const top = await room.evaluate((element) => element.scrollTop)
      const height = await room.evaluate((element) => element.scrollHeight)
      await expect.poll(() => room.evaluate((element) => element.scrollHeight)).toBeGreaterThan(height + 100)
      expect(await room.evaluate((element) => element.scrollTop)).toBe(top)
      expect(await page.evaluate('String(getSelection())')).toBe('begin. some words of it.')
      await page.getByRole('button', { name: 'Newest' }).click()
      await expect.poll(toEnd).toBeLessThan(48)
      await page.keyboard.press('Escape')
      await page.getByRole('status').getByText('Stopped').waitFor()
      await close()
    },
  )

  test.each([
    [390, false],
    [390, true],
    [1440, true],
  ])('has no serious barriers and nothing out of view at %i px (dark: %s)', async (width, isDark) => {
    const { page, strangers, close } = await open({ width, height: 844, isDark })
    await write(page, script({ raw: '# Head\n\ntext `code`\n\n```js\nlet a = 1\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |' }))
    await facts(page).waitFor()
    await page.getByRole('button', { name: 'Settings' }).click()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Close the settings' }).click()
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
    for (const name of ['Send', 'Settings', 'New chat']) {
      const box = await page.getByRole('button', { name, exact: true }).boundingBox()
      expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= width, name).toBe(true)
    }
    expect(strangers).toEqual([])
    await close()
  })

  test('Enter begins a line where fingers write, and the button sends', async () => {
    const { page, close } = await open({ width: 390, height: 844 })
    const fingers = `(query) => ({ matches: query === '(pointer: coarse)', addEventListener() {} })`
    await page.evaluate(`void (window.matchMedia = ${fingers})`)
    await page.getByLabel('Write a message').fill('one')
    await page.keyboard.press('Enter')
    await page.keyboard.type('two')
    expect(await page.getByLabel('Write a message').inputValue()).toBe('one\ntwo')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('article.user').getByText('one').waitFor()
    await close()
  })

  test('reads answers to screen readers by sentences, not by tokens', async () => {
    const { page, close } = await open()
    await page.evaluate(`{
      window.heard = []
      new MutationObserver(() => window.heard.push(document.querySelector('.pane [aria-live=polite]').textContent))
        .observe(document.querySelector('.pane'), { subtree: true, childList: true, characterData: true })
    }`)
    await write(page, script({ raw: 'One sentence is here. Another one follows it. ', delayMs: 30 }))
    await facts(page).waitFor()
    await expect.poll(() => page.locator('.pane [aria-live=polite]').textContent()).toContain('The answer is complete.')
    const heard = [...new Set((await page.evaluate('window.heard')) as string[])].filter((text) => text !== '')
    expect(heard.length).toBeLessThanOrEqual(3)
    await close()
  })

  test('characters that set the direction of a text change neither the links in it nor the words of the page', async () => {
    const { page, close } = await open()
    await write(page, script({ raw: 'turned \u202E [abcdef](https://ok.example/) words' }))
    await facts(page).waitFor()
    const places = await answers(page)
      .locator('.md a')
      .evaluate((link) => {
        const range = link.ownerDocument.createRange()
        return [0, 5].map((at) => {
          range.setStart(link.childNodes[0] as never, at)
          range.setEnd(link.childNodes[0] as never, at + 1)
          return range.getBoundingClientRect().left
        })
      })
    expect(places).toEqual([...places].sort((a, b) => a - b))
    await page.getByRole('button', { name: 'New chat' }).click()
    await write(page, 'a \u202Etitle')
    await facts(page).waitFor()
    expect(await page.title()).toBe('a title · Dragoman')
    await page.getByRole('button', { name: 'Delete a title' }).waitFor({ state: 'attached' })
    await close()
  })

  test('the Enter that ends a composition sends nothing, and its Escape closes nothing, in every browser', async () => {
    const { page, close } = await open()
    const composer = page.getByLabel('Write a message')
    // Chromium and Firefox say that they compose; Safari has ended the composition, and only the code is left.
    const ends = [{ isComposing: true, keyCode: 229 }, { keyCode: 229 }]
    const press = (field: Locator, key: string, more: object) =>
      field.dispatchEvent('keydown', { key, bubbles: true, cancelable: true, ...more })
    for (const end of ends) {
      await composer.fill('にほん')
      await press(composer, 'Enter', end)
      expect(await composer.inputValue()).toBe('にほん')
    }
    await press(composer, 'Enter', { keyCode: 13 })
    await facts(page).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByRole('textbox', { name: 'Edit' })
    for (const end of ends) for (const key of ['Enter', 'Escape']) await press(editor, key, end)
    expect(await editor.inputValue()).toBe('にほん')
    await press(editor, 'Enter', { keyCode: 13 })
    await page.getByText('2/2').first().waitFor()
    await close()
  })

  test('a first conversation asks the model that the operator calls default, although another is loaded', async () => {
    const own = await startApp({
      models: [
        { engine: 'fake', id: 'org/loaded', script: 'from-request' },
        { engine: 'fake', id: 'org/default', aliases: ['default'], script: 'from-request', load: 'demand' },
      ],
    })
    const { page, close } = await openServerPage(browser(), own.url)
    const model = page.getByRole('combobox', { name: 'Model' })
    await model.getByRole('option', { name: 'org/default (loads when asked)' }).waitFor({ state: 'attached' })
    expect(await model.inputValue()).toBe('org/default')
    await close()
    await own.close()
  })

  test('a fast stream is painted at most once for each frame', async () => {
    const { page, close } = await open()
    await page.evaluate(`{
      window.frames2 = 0
      window.paints = 0
      const count = () => { window.frames2 += 1; requestAnimationFrame(count) }
      requestAnimationFrame(count)
      new MutationObserver((all) => { if (all.some(({ target }) => (target.closest?.('.md') ?? target.parentElement?.closest('.md')) != null)) window.paints += 1 })
        .observe(document.body, { subtree: true, childList: true, characterData: true })
    }`)
    const chunks = Array.from({ length: 10_000 }, (_, index) => (index % 40 === 39 ? 'end.\n\n' : `word${index} `))
    await write(page, script({ chunks }))
    await facts(page).waitFor()
    await expect.poll(() => answers(page).locator('.md').textContent()).toContain('word9998')
    const { paints, frames } = (await page.evaluate('({ paints: window.paints, frames: window.frames2 })')) as {
      readonly paints: number
      readonly frames: number
    }
    expect(paints).toBeLessThanOrEqual(frames + 5)
    expect(paints).toBeLessThan(5000)
    await close()
  })

  test.skipIf(lacks('a large message'))(
    'a megabyte of Markdown, huge tables and long lines come in pieces, in many frames',
    async () => {
      const { page, close } = await open()
      expect(largeAnswer.length).toBeGreaterThan(1_000_000)
      await importLargeAnswer(page)
      await page.evaluate(`{
      window.steps = 0
      new MutationObserver((all) => { if (all.some(({ target }) => target.closest?.('.md') != null)) window.steps += 1 })
        .observe(document.body, { subtree: true, childList: true })
    }`)
      await openLargeAnswer(page)
      expect(await page.evaluate('window.steps')).toBeGreaterThan(10)
      const most = (selector: string, measure: string) =>
        page.evaluate(`Math.max(...[...document.querySelectorAll('.md ${selector}')].map((found) => found.${measure}))`)
      // A browser lays out, and paints, only those in sight.
      expect(await most('.md-piece', 'textContent.length')).toBeLessThanOrEqual(16_000)
      expect(await most('table', 'textContent.length')).toBeLessThanOrEqual(4000)
      expect(await page.evaluate('getComputedStyle(document.querySelector(".md-long .md-group")).contentVisibility')).toBe('auto')
      await close()
    },
  )

  test('a block that takes long to read is shown as it was written, and a long list is read in parts', async () => {
    const { page, close } = await open()
    const slow = ['>'.repeat(39_000), '_*'.repeat(19_000), '~a'.repeat(19_000), '> - '.repeat(5000).trim()]
    const items = Array.from({ length: 300 }, (_, index) => `${index + 1}. **Point ${index}** has ${'some words '.repeat(8)}`)
    await importLargeAnswer(page, [...slow, items.join('\n'), 'the end'].join('\n\n'))
    await openLargeAnswer(page)
    expect((await answers(page).locator('.md-plain').allTextContents()).map((text) => text.trim())).toEqual(slow)
    const lists = await answers(page)
      .locator('.md ol')
      .evaluateAll((found) => found.map((list) => [Number(list.getAttribute('start') ?? 1), list.children.length] as const))
    expect(lists.length).toBeGreaterThan(5)
    // Each continues the numbers of the one before.
    expect(lists.reduce((next, [start, count]) => (start === next ? next + count : Number.NaN), 1)).toBe(301)
    expect(await answers(page).locator('.md ol > li > strong').count()).toBe(300)
    await close()
  })
})

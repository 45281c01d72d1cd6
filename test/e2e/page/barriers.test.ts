import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'

const key = 'sk-admin-0123456789abcdef'

/** What Markdown has: wide tables with long words, footnotes, tasks, code and formulas. */
const rich = [
  '# Head',
  'Text with a note[^1], `code` and a [link](https://ok.example/).',
  '| number | description | another column | internationalization |\n|--:|--|--|--|\n| 1000000 | some longer words about it | more | configuration |',
  '- [ ] to do\n- [x] done\n  1. how',
  '```ts\nconst a = 1 // one\n```',
  '\\[ \\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6} + \\frac{a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p}{2} \\]',
  '[^1]: The text of the note.\n[^2]: Another one.',
].join('\n\n')

/** Each place and dialog: how a person gets there. */
const steps: readonly (readonly [name: string, go: (page: Page, isPhone: boolean) => Promise<unknown>])[] = [
  [
    'an answer',
    async (page) => {
      await write(page, script({ raw: rich }))
      await facts(page).waitFor()
      await answers(page).locator('math').waitFor()
      await answers(page).locator('.code-keyword').waitFor()
    },
  ],
  ['the editor of a message', (page) => page.getByRole('button', { name: 'Edit' }).first().click()],
  [
    'an attached file',
    async (page) => {
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page
        .getByLabel('Attach')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('line\n'.repeat(200)) })
      await page.getByTitle('Show a.txt').click()
    },
  ],
  [
    'the settings',
    async (page) => {
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Settings', exact: true }).click()
    },
  ],
  [
    'the conversation as code',
    async (page) => {
      await page.getByRole('button', { name: 'Close the settings' }).click()
      await page.getByRole('button', { name: 'As code', exact: true }).click()
    },
  ],
  [
    'the list of conversations, and the question before one is deleted',
    async (page, isPhone) => {
      await page.keyboard.press('Escape')
      if (isPhone) await page.getByRole('button', { name: 'Show the conversations' }).click()
      await page.getByRole('button', { name: /^Delete \{/ }).click()
    },
  ],
  [
    'two models',
    async (page, isPhone) => {
      await page.keyboard.press('Escape')
      if (isPhone) await page.getByRole('button', { name: 'Show the conversations' }).click()
      await page.getByRole('button', { name: 'A second model beside this one', exact: true }).click()
    },
  ],
  [
    'the keys of the keyboard',
    async (page) => {
      await page.locator('.pane-room').first().focus()
      await page.keyboard.press('?')
    },
  ],
  ...['Models', 'Activity', 'Keys', 'Logs', 'Overview'].map((place) => [place, (page: Page) => openPlace(page, place)] as const),
  [
    'the tools of the frame',
    async (page, isPhone) => {
      if (isPhone) await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('link', { name: 'API' }).waitFor()
    },
  ],
  ['an open row of Models', (page) => openPlace(page, 'Models').then(() => page.getByRole('row').nth(1).click())],
  ['the dialog that adds a model', (page) => page.getByRole('button', { name: 'Add a model' }).click()],
  [
    'the dialog that makes a key',
    async (page) => {
      await page.keyboard.press('Escape')
      await openPlace(page, 'Keys')
      await page.getByRole('button', { name: 'Make a key' }).click()
    },
  ],
]

async function openPlace(page: Page, place: string): Promise<void> {
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: place, exact: true }).click()
  await page.getByRole('heading', { name: place, level: 1 }).waitFor()
}

describe.skipIf(browserPath === undefined)(`every place and dialog of the page${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [{ engine: 'fake' as const, id: 'org/scripted', script: 'from-request', contextLength: 200_000 }]
    ;[app, browser] = await Promise.all([startApp({ server: { adminKey: key }, models }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  test.each([
    [360, true],
    [1280, false],
  ])('has no serious barriers, and fits at %i px (dark: %s)', async (width, isDark) => {
    const isPhone = width < 720
    const { page, strangers, problems, close } = await openServerPage(browser, app.url, { width, height: 800, isDark, key })
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    for (const [name, go] of steps) {
      await go(page, isPhone)
      expect([name, ...(await findBarriers(page))]).toEqual([name])
      expect([name, await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')]).toEqual([
        name,
        0,
      ])
    }
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test.each([false, true])('/docs has none either, and leads to the page as the page leads to it (dark: %s)', async (isDark) => {
    const { page, close } = await openServerPage(browser, app.url, { width: isDark ? 360 : 1280, isDark, key })
    if (isDark) await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('link', { name: 'API' }).click()
    await page.locator('details').first().waitFor()
    expect(page.url()).toBe(`${app.url}/docs`)
    await page.locator('#postV1ChatCompletions summary').click()
    expect(await findBarriers(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
    // The key of the page's tab is that of its examples.
    await page.locator('#postV1ChatCompletions button').click()
    await page.locator('#postV1ChatCompletions pre').getByText('200 application/json').waitFor()
    await page.getByRole('link', { name: 'Chat' }).click()
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await close()
  })

  test.each([360, 1440])('tables break no word and scroll, and what has an edge has the same one, at %i px', async (width) => {
    const { page, close } = await openServerPage(browser, app.url, { width, height: 800, key })
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await write(page, script({ raw: rich }))
    await facts(page).waitFor()
    const lines = await answers(page)
      .locator('th')
      .evaluateAll((cells) =>
        cells.map((cell) => {
          const range = cell.ownerDocument.createRange()
          range.selectNodeContents(cell)
          return [cell.textContent, range.getClientRects().length]
        }),
      )
    // Two words may be on two lines.
    expect(lines.filter(([text, count]) => Number(count) > String(text).split(' ').length)).toEqual([])
    const room = answers(page).locator('.md-table')
    const isWider = await room.evaluate((element) => element.scrollWidth > element.clientWidth)
    expect(isWider).toBe(width === 360)
    const edges = await Promise.all(
      ['.composer', '.message.user .bubble', '.md-code', '.md-table'].map((selector) =>
        page
          .locator(selector)
          .first()
          .evaluate((element) => Math.round(element.getBoundingClientRect().right)),
      ),
    )
    const bar = await page.locator('.pane-room').evaluate((element) => element.offsetWidth - element.clientWidth)
    expect(Math.max(...edges) - Math.min(...edges)).toBeLessThanOrEqual(width === 360 ? 8 + bar / 2 : 1)
    expect(
      await answers(page)
        .locator('li.task')
        .first()
        .evaluate((item) => item.textContent),
    ).toBe('☐ to do')
    const startOf = (selector: string) =>
      answers(page)
        .locator(selector)
        .evaluate((element) => {
          const range = element.ownerDocument.createRange()
          range.selectNodeContents(element)
          return range.getBoundingClientRect().left
        })
    expect(await startOf('li.task li')).toBeGreaterThan((await startOf('li.task:first-child')) + 30)
    expect(await answers(page).locator('sup.md-note').allTextContents()).toEqual(['1', '1', '2'])
    await close()
  })
})

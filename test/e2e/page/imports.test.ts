import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { zipFile } from '../../support/documents/zip-file.ts'
import { answers, facts, write } from '../../support/page/chat-words.ts'
import { storeAsBefore } from '../../support/page/kept.ts'
import { browserPath, hint, lacks } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

type Fields = Readonly<Record<string, unknown>>

const messages = {
  a: { id: 'a', role: 'user', text: 'A question', atMs: 1 },
  b: { id: 'b', role: 'assistant', parent: 'a', state: 'done', text: 'An answer', atMs: 2 },
}
const settings = { system: '', sampling: {}, tools: '', schema: '' }
const conversation = (id: string, more: Fields = {}) => ({
  id,
  title: id,
  createdAtMs: 1,
  updatedAtMs: 2,
  settings,
  messages,
  chosen: { start: 'a', a: 'b' },
  ...more,
})
const withAnswer = (more: Fields) => ({ messages: { ...messages, b: { ...messages.b, ...more } } })
const withQuestion = (more: Fields) => ({ messages: { ...messages, a: { ...messages.a, ...more } } })

/** Each has a question and an answer that can be shown. */
const damaged = [
  conversation('no-time', { updatedAtMs: undefined }),
  conversation('late', { updatedAtMs: 1e300, createdAtMs: 'now' }),
  conversation('no-settings', { settings: {} }),
  conversation('circle', { chosen: { start: 'a', a: 'b', b: 'a' } }),
  conversation('prototype', { chosen: { start: '__proto__' } }),
  conversation('question-without-time', withQuestion({ atMs: undefined })),
  conversation('question-at-no-time', withQuestion({ atMs: 1e300 })),
  conversation('file-without-data', withQuestion({ attachments: [{ kind: 'image', name: 'cat.png', type: 'image/png' }] })),
  conversation('no-calls', withAnswer({ calls: [null] })),
  conversation('calls-no-list', withAnswer({ calls: { length: 1 } })),
  conversation(
    'odd-picture',
    withAnswer({ calls: [{ id: 'c', name: 'python', input: '{}', by: 'server', pictures: ['\uD800'] }] }),
  ),
  conversation('no-facts', withAnswer({ facts: null })),
  conversation('slow-pattern', withAnswer({ text: `"An answer${'a'.repeat(40)}!"`, schema: '{"pattern":"^An answer(a+)+$"}' })),
]

describe.skipIf(browserPath === undefined)(`what the page finds in files and in the browser${hint}`, () => {
  const { open, url } = useScriptedPage()

  /** Gives the page a file, and waits until it says so. */
  const importFile = async (page: Page, conversations: readonly unknown[]) => {
    const file = { format: 'dragoman-conversations', version: 1, conversations }
    await page
      .locator('.conversations input[type=file]')
      .setInputFiles({ name: 'file.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(file)) })
    await page.getByText(`Imported ${conversations.length} conversation`).waitFor()
  }

  const stored = (page: Page) =>
    page.evaluate(`new Promise((resolve) => {
      const opening = indexedDB.open('dragoman')
      opening.onsuccess = () => {
        const reading = opening.result.transaction('heads').objectStore('heads').getAll()
        reading.onsuccess = () => {
          opening.result.close()
          resolve(reading.result.map(({ title }) => title).sort())
        }
      }
    })`)

  const openEach = async (page: Page, titles: readonly string[]) => {
    for (const title of titles) {
      await page.getByRole('link', { name: new RegExp(`^${title}`) }).click()
      await page.getByRole('heading', { name: title, exact: true }).waitFor()
      await answers(page).getByText('An answer').waitFor()
      expect(await page.locator('article.user').getByText('A question').count(), title).toBe(1)
    }
  }

  test('damaged conversations of a file show what can be read, and do no harm to others', async () => {
    const { page, problems, close } = await open()
    await write(page, 'what was here')
    await facts(page).waitFor()
    await importFile(page, damaged)
    await expect.poll(() => stored(page)).toHaveLength(damaged.length + 1)
    await page.reload()
    await page.getByRole('link', { name: 'what was here' }).waitFor()
    expect(await page.locator('.conversations li').count()).toBe(damaged.length + 1)
    await openEach(
      page,
      damaged.map(({ title }) => title),
    )
    expect(problems).toEqual([])
    await close()
  })

  test.skipIf(lacks('other pages'))('damaged conversations that the browser has are shown, and can be deleted', async () => {
    const { page, problems, close } = await open()
    await page.goto(`${url()}/health`)
    await storeAsBefore(page, [...damaged, { id: 'no-messages' }, conversation('good')])
    await page.goto(url())
    await openEach(page, ['good', ...damaged.map(({ title }) => title)])
    await page.getByRole('button', { name: 'Delete no-time' }).click({ force: true })
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => stored(page)).not.toContain('no-time')
    expect(problems).toEqual([])
    await close()
  })

  test('an import replaces nothing, not even what another tab has begun since', async () => {
    const { page, context, close } = await open()
    await importFile(page, [conversation('same'), conversation('same', { title: 'of the same file' })])
    const other = await context.newPage()
    await other.goto(url())
    await importFile(other, [conversation('other', { title: 'of another tab' })])
    await importFile(page, [conversation('same', { title: 'same again' }), conversation('other', { title: 'other again' })])
    const said = { id: 'u', parent: null, message: { author: { role: 'user' }, content: { parts: ['Hi'] } } }
    const ofChatgpt = [{ id: 'same', title: 'of a ZIP', mapping: { u: said } }]
    const buffer = zipFile({ 'chat.html': '<p>', 'conversations.json': JSON.stringify(ofChatgpt) })
    const input = page.locator('.conversations input[type=file]')
    await input.setInputFiles({ name: 'export.zip', mimeType: 'application/zip', buffer })
    const all = ['of a ZIP', 'of another tab', 'of the same file', 'other again', 'same', 'same again']
    await expect.poll(() => stored(page)).toEqual(all)
    await close()
  })

  test.skipIf(lacks('downloads'))(
    'a conversation whose view fails says so and can be exported; the list and the others stay',
    async () => {
      const { page, close } = await open()
      await importFile(page, [conversation('good'), conversation('odd')])
      await page.evaluate(`{
      const { toISOString } = Date.prototype
      window.mend = () => { Date.prototype.toISOString = toISOString }
      Date.prototype.toISOString = () => { throw new Error('a fault of the view') }
    }`)
      await page.getByRole('link', { name: 'odd' }).click()
      const failure = page.getByRole('alert')
      await failure.getByText(/cannot be shown \(a fault of the view\)/).waitFor()
      const [exported] = await Promise.all([
        page.waitForEvent('download'),
        failure.getByRole('button', { name: 'Export' }).click(),
      ])
      expect(exported.suggestedFilename()).toBe('odd.json')
      await page.evaluate('window.mend()')
      await openEach(page, ['good', 'odd'])
      await close()
    },
  )

  test.skipIf(lacks('a large message'))(
    'a branch of thousands of messages shows its last ones, and earlier ones on request',
    async () => {
      const { page, close } = await open()
      const ids = Array.from({ length: 20_000 }, (_, index) => `m${index}`)
      const all = ids.map((id, index) => ({ id, parent: ids[index - 1], role: 'user', text: `text ${index}`, atMs: index }))
      const chosen = Object.fromEntries(ids.map((id, index) => [ids[index - 1] ?? 'start', id]))
      await importFile(page, [conversation('long', { messages: Object.fromEntries(all.map((each) => [each.id, each])), chosen })])
      await page.getByRole('link', { name: 'long' }).click()
      const drawn = page.locator('article.message')
      await drawn.last().getByText('text 19999').waitFor()
      expect(await drawn.count()).toBe(100)
      await page.getByRole('button', { name: 'Show earlier messages (19,900)' }).click()
      await drawn.first().getByText('text 19800').waitFor()
      await close()
    },
  )
})

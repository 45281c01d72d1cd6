import type { Page } from 'playwright-core'
import { answers } from './chat-words.ts'

const table = `| a | b |\n|--|--|\n${'| cell | cell |\n'.repeat(3000)}\n`
const paragraphs = `## Head\n\n${'A paragraph with **bold** text. '.repeat(10)}\n\n`.repeat(500)
const code = `\`\`\`js\n${'let a = 1\n'.repeat(70_000)}\`\`\``

/** A megabyte of Markdown: paragraphs, a table, a line without an end, and code. */
export const largeAnswer = `${paragraphs}${table}${'x'.repeat(100_000)}\n\n${code}\n\nthe end`

/** Gives the page a conversation with this answer, or another one, as a file. */
export async function importLargeAnswer(page: Page, text = largeAnswer): Promise<void> {
  const message = (id: string, more: object) => ({ id, atMs: 1, ...more })
  await importFile(page, 'large', {
    messages: {
      a: message('a', { role: 'user', text: 'Write much.' }),
      b: message('b', { role: 'assistant', parent: 'a', state: 'done', text }),
    },
    chosen: { start: 'a', a: 'b' },
  })
}

async function importFile(page: Page, id: string, more: object): Promise<void> {
  const settings = { system: '', sampling: {}, tools: '', schema: '' }
  const conversation = { id, title: id, createdAtMs: 0, updatedAtMs: 1, settings, ...more }
  const file = { format: 'dragoman-conversations', version: 1, conversations: [conversation] }
  await page
    .locator('.conversations input[type=file]')
    .setInputFiles({ name: `${id}.json`, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(file)) })
  await page.getByRole('link', { name: new RegExp(`^${id}`) }).waitFor()
}

/** Opens that conversation, and waits for the last words of the answer. */
export async function openLargeAnswer(page: Page): Promise<void> {
  await page.getByRole('link', { name: /^large/ }).click()
  await answers(page).getByText('the end', { exact: true }).waitFor({ timeout: 200_000 })
}

/** Gives the page a conversation of this many messages, as a file. */
export async function importLongConversation(page: Page, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `m${index}`)
  const all = ids.map((id, index) => ({
    id,
    ...(index > 0 && { parent: ids[index - 1] }),
    ...(index % 2 === 0 ? { role: 'user' } : { role: 'assistant', state: 'done', model: 'org/scripted' }),
    text: index === count - 1 ? 'the end' : `Message ${index} with **some** words, \`code\` and a list:\n\n- one\n- two`,
    atMs: index,
  }))
  await importFile(page, 'long', {
    messages: Object.fromEntries(all.map((each) => [each.id, each])),
    chosen: Object.fromEntries(ids.map((id, index) => [ids[index - 1] ?? 'start', id])),
  })
}

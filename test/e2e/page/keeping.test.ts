import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, lacks } from '../../support/page/open-page.ts'
import { refill } from '../../support/page/refill.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

describe.skipIf(browserPath === undefined)(`what a person does with conversations, in a browser${hint}`, () => {
  const { open, url } = useScriptedPage([{ id: 'org/other', contextLength: 8192 }])
  const ask = async (page: Page, text: string, nth: number) => {
    await write(page, text)
    await facts(page).nth(nth).waitFor()
  }
  const texts = (page: Page) => page.locator('article.user .user-text, article.answer .md').allTextContents()
  const about = (page: Page, title: string) => page.getByRole('button', { name: `Title, folder and exports of ${title}` })

  test('renames and pins a conversation and puts others into a folder, for all tabs and after a reload', async () => {
    const { page, context, close } = await open()
    await ask(page, 'first', 0)
    await page.getByRole('button', { name: 'New chat' }).click()
    await ask(page, 'second', 0)
    const other = await context.newPage()
    await other.goto(url())
    await about(page, 'first').click()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('textbox', { name: 'Title' }).fill('Steam engines')
    await page.getByLabel('Keep at the top of the list').check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const titles = (of: Page) => of.locator('a.conversation .clip').allTextContents()
    await expect.poll(() => titles(other)).toEqual(['Steam engines', 'second'])
    await page.getByRole('button', { name: 'New chat' }).click()
    await ask(page, 'third', 0)
    await about(page, 'second').click()
    await page.getByRole('combobox', { name: 'Folder' }).fill(' Work ')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await other.getByText('Work (1)').waitFor()
    await expect.poll(() => titles(other)).toEqual(['Steam engines', 'third'])
    await page.reload()
    await expect.poll(() => titles(page)).toEqual(['Steam engines', 'third'])
    const inside = page.getByRole('link', { name: /^second/ })
    expect(await inside.isVisible()).toBe(false)
    await page.getByText('Work (1)').click()
    await inside.waitFor()
    expect(await titles(page)).toEqual(['Steam engines', 'second', 'third'])
    expect(await findBarriers(page)).toEqual([])
    await about(page, 'second').click()
    await refill(page.getByRole('combobox', { name: 'Folder' }), '')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect.poll(() => page.getByText('Work (1)').count()).toBe(0)
    await close()
  })

  test.skipIf(lacks('bodies of requests'))(
    'deletes one message or all that follow, and answers again what has no answer',
    async () => {
      const { page, close } = await open()
      for (const [index, text] of ['one', 'two', 'three'].entries()) await ask(page, text, index)
      const remove = async (nth: number, action: string) => {
        await page.locator('article').nth(nth).getByRole('button', { name: 'Delete this message' }).click()
        expect(await findBarriers(page)).toEqual([])
        await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
      }
      await remove(1, 'Delete')
      await expect.poll(() => texts(page)).toEqual(['one', 'two', 'two', 'three', 'three'])
      await remove(2, 'Delete it and all that follows')
      await expect.poll(() => texts(page)).toEqual(['one', 'two'])
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await page.getByRole('button', { name: 'Answer this' }).click()
      expect((await sent).postDataJSON().messages).toEqual([
        { role: 'user', content: 'one' },
        { role: 'user', content: 'two' },
      ])
      await expect.poll(() => texts(page)).toEqual(['one', 'two', 'two'])
      await page.reload()
      await expect.poll(() => texts(page)).toEqual(['one', 'two', 'two'])
      await close()
    },
  )

  test.skipIf(lacks('bodies of requests'))('an edited answer is what the model reads next', async () => {
    const { page, close } = await open()
    await ask(page, 'one', 0)
    await page.getByRole('button', { name: 'Change the answer' }).click()
    await page.getByRole('textbox', { name: 'Edit' }).fill('another answer')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await facts(page)
      .getByText(/· edited/)
      .waitFor()
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(page, 'two')
    expect((await sent).postDataJSON().messages[1]).toEqual({ role: 'assistant', content: 'another answer' })
    await close()
  })

  test.skipIf(lacks('bodies of requests'))('a preset keeps settings, and is the start of new chats', async () => {
    const { page, context, close } = await open()
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('System prompt').fill('Be brief.')
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Name of a preset').fill('short')
    await page.getByRole('button', { name: 'Save as preset' }).click()
    await page.getByLabel('For new chats').check()
    expect(await findBarriers(page)).toEqual([])
    await refill(page.getByLabel('System prompt'), '')
    await page.getByRole('combobox', { name: 'Preset' }).selectOption('')
    await page.getByRole('combobox', { name: 'Preset' }).selectOption('short')
    expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief.')
    const other = await context.newPage()
    await other.goto(url())
    await other.getByRole('combobox', { name: 'Model' }).waitFor()
    const sent = other.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(other, 'Hello')
    expect((await sent).postDataJSON()).toMatchObject({
      temperature: 0.5,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    })
    await page.getByRole('button', { name: 'Delete short' }).click()
    expect(await page.getByRole('combobox', { name: 'Preset' }).locator('option').count()).toBe(1)
    await close()
  })

  test('where the browser keeps nothing, as with blocked cookies, a chat works as long as the page, and the page says so', async () => {
    const { page, context, problems, close } = await open()
    await context.addInitScript(`{
      const refuse = () => { throw new DOMException('denied', 'SecurityError') }
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse })
      IDBFactory.prototype.open = refuse
      LockManager.prototype.request = async () => refuse()
    }`)
    await page.reload()
    await page.getByRole('combobox', { name: 'Model' }).selectOption('org/other')
    for (const [index, text] of ['one', 'two'].entries()) await ask(page, text, index)
    await page.getByText('This browser does not keep conversations').waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test('a second model answers the same question beside the first', async () => {
    const { page, close } = await open()
    for (const [index, text] of ['one', 'two'].entries()) await ask(page, text, index)
    await answers(page).nth(0).getByRole('button', { name: 'Answer with a second model' }).click()
    const second = page.locator('.pane').nth(1)
    await second.getByRole('combobox', { name: 'Model' }).selectOption('org/other')
    await second.getByRole('button', { name: 'Answer this' }).click()
    await second
      .locator('.facts')
      .getByText(/org\/other/)
      .waitFor()
    expect(await second.locator('article.user .user-text').allTextContents()).toEqual(['one'])
    expect(await page.locator('.pane').nth(0).locator('article.answer').count()).toBe(2)
    await page.locator('a.conversation').getByText('one (compared)').waitFor()
    await close()
  })

  test.skipIf(lacks('downloads'))('exports Markdown and HTML, in which nothing runs', async () => {
    const { page, context, strangers, close } = await open()
    const raw = '# Head\n\n<script>window.pwned=1</script><img src=x onerror="window.pwned=2">\n\n[a](javascript:window.pwned=3)'
    await ask(page, script({ raw }), 0)
    await about(page, '').first().click()
    await page.getByRole('textbox', { name: 'Title' }).fill('<b>a/b</b>')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const exported = async (kind: string) => {
      await about(page, '').first().click()
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: kind }).click()])
      return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') }
    }
    const markdown = await exported('Markdown')
    expect(markdown.name).toBe('babb.md')
    expect(markdown.text).toContain(`## org/scripted\n\n${raw}`)
    const html = await exported('HTML')
    const reader = await context.newPage()
    await reader.setContent(html.text)
    expect(await reader.locator('h1').first().textContent()).toBe('<b>a/b</b>')
    expect(await reader.locator('script, img, a[href^="javascript"]').count()).toBe(0)
    expect(await reader.evaluate('window.pwned')).toBeUndefined()
    expect(strangers).toEqual([])
    await close()
  })
})

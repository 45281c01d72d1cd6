import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { proxyTo } from '../../support/page/proxy.ts'

describe.skipIf(browserPath === undefined)(`the chat of the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [
      { engine: 'fake', id: 'org/scripted', script: 'from-request', contextLength: 200_000 },
      { engine: 'fake', id: 'org/other', script: 'from-request', contextLength: 8192 },
      { engine: 'fake', id: 'org/thinker', script: 'from-request', chatTemplate: 'test/support/page/thinks.jinja' },
      { engine: 'llama', id: 'dragoman-tiny', source: 'builtin:dragoman-tiny.gguf', contextLength: 4096, slots: 2, threads: 1 },
    ] as const
    ;[app, browser] = await Promise.all([startApp({ models: [...models] }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const open = async (view = {}) => {
    const opened = await openServerPage(browser, app.url, view)
    await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
    return opened
  }

  test('a newcomer clicks an example and reads an answer of the tiny model, with what it has cost', async () => {
    const { page, strangers, problems, close } = await open()
    await page.getByRole('combobox', { name: 'Model' }).selectOption('dragoman-tiny')
    await write(page, 'What is the capital of France?')
    await facts(page).waitFor()
    expect(await answers(page).textContent()).toContain('Paris')
    expect(await facts(page).textContent()).toMatch(/dragoman-tiny · \d+ in · \d+ out · [\d.,]+ tok\/s · first token after/)
    expect(await page.title()).toBe('What is the capital of France? · Dragoman')
    // The context is filled by what was said.
    expect(await page.getByRole('img', { name: /\d+ of 4,096 tokens of the context are used/ }).count()).toBe(1)
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test('what is sent before the models are known is sent when they are', async () => {
    const { page, close } = await open()
    let resolve: () => void = () => undefined
    const mayAnswer = new Promise<void>((done) => {
      resolve = done
    })
    await page.route('**/v1/models', async (route) => {
      await mayAnswer
      await route.continue()
    })
    await page.reload()
    await write(page, 'early')
    expect(await answers(page).count()).toBe(0)
    resolve()
    await facts(page).waitFor()
    expect(await page.getByLabel('Write a message').inputValue()).toBe('')
    await close()
  })

  test('shows Markdown, and what a model writes as HTML is text', async () => {
    const { page, strangers, problems, close } = await open()
    const raw = [
      '# Head <img src=x onerror="window.pwned=1">',
      '<script>window.pwned=2</script><svg onload="window.pwned=3"></svg><iframe src="https://evil.example"></iframe>',
      '[a](javascript:window.pwned=4) [b](data:text/html,x) [c](https://ok.example/) ![d](https://evil.example/x.png) <https://e.example/"onclick=x>',
      '| a | b |\n|--|--:|\n| <b onclick="window.pwned=5">1</b> | 2 |',
      '```html\n<script>window.pwned=6</script>\n```',
      '```"onclick="x\ncode\n```',
      '[^1]: note\n\n- [x] done',
      // Codes for terminals.
      '\u001B[31mred\u001B[0m \u001B]0;pwned\u0007 \u001B[2Jend',
    ].join('\n\n')
    await write(page, script({ raw }))
    await facts(page).waitFor()
    const answer = answers(page)
    expect(await answer.locator('h2').textContent()).toBe('Head <img src=x onerror="window.pwned=1">')
    expect(await answer.locator('script, iframe, svg:not(button svg), img, [onclick], [onerror], [id], [style]').count()).toBe(0)
    expect(await answer.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')).sort())).toEqual(
      expect.arrayContaining(['https://evil.example/x.png', 'https://ok.example/']),
    )
    expect(await answer.textContent()).toMatch(/red.*end/)
    expect(await page.title()).not.toMatch(/^pwned/)
    expect(await answer.locator('a[href^="javascript"], a[href^="data"]').count()).toBe(0)
    await answer.locator('text=a').first().click()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test('what was typed, and the conversation, are there again after a reload; the address opens the same', async () => {
    const { page, context, close } = await open()
    await page.getByLabel('Write a message').fill('half a thou')
    await page.reload()
    await expect.poll(() => page.getByLabel('Write a message').inputValue()).toBe('half a thou')
    await write(page, 'Hello <b>there</b>')
    await facts(page).waitFor()
    await page.waitForTimeout(600)
    const other = await context.newPage()
    await other.goto(page.url())
    await other.locator('article.answer').getByText('Hello <b>there</b>').waitFor()
    expect(await other.locator('article b').count()).toBe(0)
    await other.goBack().catch(() => undefined)
    await close()
  })

  test('C40: Escape stops an answer, also for the engine, and says so', async () => {
    const { page, close } = await open()
    await write(page, script({ raw: 'word '.repeat(5000), delayMs: 20 }))
    await answers(page).getByText('word word word').waitFor()
    expect(await page.title()).toContain('1 running')
    await page.keyboard.press('Escape')
    await facts(page)
      .getByText(/· stopped/)
      .waitFor()
    await expect.poll(() => app.metric('dragoman_slots_busy{model="org/scripted"}')).toBe(0)
    expect(await answers(page).textContent()).toContain('word word')
    await close()
  })

  test('an answer that reached its limit says so and continues; back leads to the conversation before', async () => {
    const { page, close } = await open()
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Tokens of an answer').fill('3')
    await page.getByRole('button', { name: 'Close the settings' }).click()
    await write(page, 'one two three four five six')
    await facts(page)
      .getByText(/ended at the limit of 3 tokens/)
      .waitFor()
    await facts(page).getByRole('button', { name: 'Continue' }).waitFor()
    const first = page.url()
    await page.getByRole('button', { name: 'New chat' }).click()
    await write(page, 'another one')
    await facts(page).waitFor()
    expect(page.url()).not.toBe(first)
    await page.goBack()
    expect(page.url()).toBe(first)
    await answers(page).getByText('one two three').waitFor()
    await page.goForward()
    await answers(page).getByText('another one').waitFor()
    await close()
  })

  test('edits and regenerates, with branches to go back to', async () => {
    const { page, close } = await open()
    await write(page, 'first')
    await facts(page).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    // Without a text, there is no question.
    await page.getByRole('textbox', { name: 'Edit' }).fill(' ')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Edit' }).fill('second')
    await page.keyboard.press('Enter')
    await answers(page).getByText('second', { exact: true }).waitFor()
    await page.getByTitle('Branch 2 of 2').waitFor()
    await page.getByRole('button', { name: 'Previous branch' }).click()
    await answers(page).getByText('first', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Answer again' }).click()
    await expect.poll(() => page.getByTitle('Branch 2 of 2').count()).toBe(1)
    await close()
  })

  test('two models answer side by side, each in its own conversation', async () => {
    const { page, close } = await open()
    await page.getByRole('button', { name: 'A second model beside this one' }).click()
    await page.getByRole('combobox', { name: 'Model' }).nth(1).selectOption('org/other')
    await write(page, 'both of you')
    await expect.poll(() => facts(page).count()).toBe(2)
    expect(await facts(page).nth(1).textContent()).toContain('org/other')
    expect(page.url()).toMatch(/#\/chat\/\w+\?beside=\w+/)
    expect(await page.locator('a.conversation').count()).toBe(2)
    await page.getByRole('button', { name: 'Close this side' }).first().click()
    await expect.poll(() => page.getByRole('combobox', { name: 'Model' }).count()).toBe(1)
    await close()
  })

  test.skipIf(lacks('bodies of requests'))(
    'the settings are sent: system prompt, sampling, schema, tools; a schema is checked',
    async () => {
      const { page, close } = await open()
      await page.getByRole('button', { name: 'Settings' }).click()
      await page.getByPlaceholder('random').and(page.getByLabel('Seed')).waitFor()
      await page.getByLabel('System prompt').fill('Be brief.')
      await page.getByLabel('Temperature').fill('0.5')
      await page.getByLabel('JSON schema of the answer').fill('{"type":')
      await page.locator('.drawer .bad').waitFor()
      await page.getByLabel('JSON schema of the answer').fill('{"type":"object","required":["city"]}')
      expect(await page.locator('.drawer .bad').count()).toBe(0)
      await page
        .getByRole('textbox', { name: 'Tools' })
        .fill('[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]')
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await write(page, script({ raw: '{"town": 1}' }))
      expect((await sent).postDataJSON()).toMatchObject({
        model: 'org/scripted',
        temperature: 0.5,
        messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
        response_format: { json_schema: { schema: { required: ['city'] } } },
        tools: [{ function: { name: 'f' } }],
      })
      await answers(page).getByText('the answer lacks "city"').waitFor()
      await write(page, script({ raw: '{"city": "Oslo"}' }))
      await answers(page).last().getByText('Matches the schema').waitFor()
      await close()
    },
  )

  test('copies the conversation as code, without the key', async () => {
    const { page, close } = await open()
    await write(page, 'Hello')
    await facts(page).waitFor()
    await page.getByRole('button', { name: 'As code', exact: true }).click()
    const dialog = page.getByRole('dialog')
    for (const [kind, words] of [
      ['curl', `curl ${app.url}/v1/chat/completions`],
      ['JavaScript', "import OpenAI from 'openai'"],
      ['Python', 'from openai import OpenAI'],
    ] as const) {
      await dialog.getByRole('button', { name: kind, exact: true }).click()
      await dialog.getByRole('button', { name: `Copy the ${kind} code` }).click()
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(words)
    }
    await close()
  })

  test('attaches files by paste and by drop, and says which it cannot read', async () => {
    const { page, close } = await open()
    const give = (event: string, name: string, type: string) =>
      page.evaluate(`{
        const transfer = new DataTransfer()
        transfer.items.add(new File(['hello'], ${JSON.stringify(name)}, { type: ${JSON.stringify(type)} }))
        const event = new Event(${JSON.stringify(event)}, { bubbles: true, cancelable: true })
        Object.defineProperty(event, ${JSON.stringify(event)} === 'paste' ? 'clipboardData' : 'dataTransfer', { value: transfer })
        document.querySelector('.composer-text').dispatchEvent(event)
      }`)
    await give('paste', 'notes.txt', 'text/plain')
    await page.getByText('notes.txt').waitFor()
    await give('drop', 'drawing.svg', 'image/svg+xml')
    await page.getByText('drawing.svg').waitFor()
    await give('drop', 'archive.zip', 'application/zip')
    // Its bytes are text, whatever its name.
    await page.getByRole('button', { name: 'Remove archive.zip' }).click()
    await page.getByRole('button', { name: 'Remove drawing.svg' }).click()
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(page, 'Read it')
    const request = await sent
    if (!lacks('bodies of requests'))
      expect(request.postDataJSON().messages[0].content).toEqual([
        { type: 'text', text: 'File notes.txt:\n\nhello' },
        { type: 'text', text: 'Read it' },
      ])
    await close()
  })

  test.skipIf(lacks('bodies of requests'))(
    'reasoning is a folded line with its time, and calls of tools wait for a result',
    async () => {
      const { page, close } = await open()
      await page.getByRole('combobox', { name: 'Model' }).selectOption('org/thinker')
      await write(page, script({ raw: '<think>Let me see.</think>It rains.', delayMs: 5 }))
      await facts(page).waitFor()
      await answers(page)
        .getByText(/^Thought for/)
        .click()
      await answers(page).getByText('Let me see.').waitFor()
      expect(await answers(page).locator('.md').textContent()).toBe('It rains.')
      await page.getByRole('button', { name: 'Settings' }).click()
      await page
        .getByRole('textbox', { name: 'Tools' })
        .fill('[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]')
      await write(page, script({ raw: '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>' }))
      const call = answers(page).last()
      await call.getByText('The model calls weather').waitFor()
      await call.getByText('"city": "Oslo"').waitFor()
      await call.getByLabel('Result: weather').fill('21 degrees')
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await call.getByRole('button', { name: 'Send the results' }).click()
      expect((await sent).postDataJSON().messages.slice(-2)).toMatchObject([
        { role: 'assistant', tool_calls: [{ function: { name: 'weather' } }] },
        { role: 'tool', content: '21 degrees' },
      ])
      await close()
    },
  )

  test('log-probabilities are shown token by token', async () => {
    const { page, close } = await open()
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Log-probabilities of tokens').check()
    await page.getByRole('button', { name: 'Close the settings' }).click()
    await page.getByRole('combobox', { name: 'Model' }).selectOption('dragoman-tiny')
    await write(page, 'What is the capital of France?')
    await page.getByRole('button', { name: 'Tokens and their probabilities' }).click()
    await page.locator('.token').first().focus()
    await page.keyboard.press('ArrowRight')
    const alternatives = page.getByRole('table', { name: 'Alternatives at this place' })
    expect(await alternatives.getByRole('row').count()).toBeGreaterThan(1)
    await alternatives.getByText('< 0.01 %').first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    await close()
  })

  test.skipIf(lacks('bodies of requests', 'downloads'))(
    'a lost answer keeps what came, says so in place, and continues where it ended',
    async () => {
      const proxy = await proxyTo(app.url)
      const { page, close } = await openServerPage(browser, proxy.url)
      await page.getByRole('combobox', { name: 'Model' }).waitFor()
      // The server has been restarted.
      await page.route('**/v1/stream?*', (route) => route.fulfill({ status: 404 }))
      await write(page, script({ raw: 'before the end. '.repeat(2000), delayMs: 10 }))
      await answers(page).getByText('before the end').waitFor()
      proxy.leave()
      await page.getByLabel('Write a message').fill('typed while it was away')
      proxy.comeBack()
      await answers(page).getByText('The connection to the server ended before the answer did. What came is kept.').waitFor()
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await answers(page).getByRole('button', { name: 'Continue' }).click()
      const body = (await sent).postDataJSON()
      expect(body.continue_final_message).toBe(true)
      expect(body.messages.at(-1)).toMatchObject({ role: 'assistant', content: expect.stringContaining('before the end') })
      expect(await page.getByLabel('Write a message').inputValue()).toBe('typed while it was away')
      await close()
      proxy.close()
    },
  )

  test('the server’s own refusal is shown in place, with a way to try again', async () => {
    const { page, close } = await open()
    await write(page, script({ nonsense: 1 }))
    const alert = answers(page).getByRole('alert')
    await alert.getByText(/script in the last user message is wrong/).waitFor()
    await alert.getByRole('button', { name: 'Try again' }).waitFor()
    await close()
  })

  test.skipIf(lacks('downloads', 'bodies of requests'))(
    'exports and imports conversations, and refuses a file that is none',
    async () => {
      const { page, close } = await open()
      await write(page, 'keep me')
      await facts(page).waitFor()
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export all' }).click()
      const file = await (await download).path()
      await page.getByRole('button', { name: 'Delete keep me' }).click()
      await page.getByRole('dialog').getByText('"keep me" has 2 messages').waitFor()
      await page.keyboard.press('Enter')
      await expect.poll(() => page.locator('a.conversation').count()).toBe(0)
      const input = page.locator('.conversations input[type=file]')
      await input.setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{}') })
      await page.getByText(/This file has no conversations/).waitFor()
      await input.setInputFiles(file)
      await page.locator('a.conversation').getByText('keep me').waitFor()
      await close()
    },
  )

  test('n, / and Escape work from everywhere, but do not take letters from who types', async () => {
    const { page, close } = await open()
    await write(page, 'find the needle')
    await facts(page).waitFor()
    await page.getByLabel('Write a message').press('n')
    expect(await page.getByLabel('Write a message').inputValue()).toBe('n')
    await page.locator('.pane-room').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('haystack')
    await page.getByText('No conversation has this').waitFor()
    expect(page.url()).toContain('filter=haystack')
    await page.locator('.pane-room').focus()
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'Ask the model something' }).waitFor()
    await close()
  })
})

// Makes the pictures of docs/pictures from the page and the terminal as they are, or those named. Needs Chromium and tmux. A model that plays a
// script answers, but for the agent: there the default model does, and times are as they are, so the machine should have nothing else to do.
//   npm run pictures [-- chat activity terminal agent]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startDragoman } from '../bench/processes.ts'
import { answers, facts, write } from '../test/support/page/chat-words.ts'
import { openBrowser, openServerPage } from '../test/support/page/open-page.ts'
import { filmAgent } from './pictures/agent.ts'
import { colours, escaped, openTerminal, runsOf } from './pictures/terminal.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'pictures')
const home = mkdtempSync(join(tmpdir(), 'dragoman-pictures-'))
const largestBytes = 150_000
const largestFilmBytes = 300_000

const question = 'How do tides work? Keep it short.'
const answer = `<think>They want the idea, not the equations: gravity falls with distance, and the Earth turns below two bulges.</think>**The Moon pulls the near side of the Earth more than the far side.** The difference stretches the oceans into two bulges, and the Earth turns below them:

| when                   | Sun and Moon       | tides  |
| ---------------------- | ------------------ | ------ |
| new moon, full moon    | pull in one line   | spring |
| first, last quarter    | at a right angle   | neap   |

A coast passes both bulges in a day, so most have high water every 12 h 25 min:

\`\`\`python
from datetime import timedelta

lunar_day = timedelta(hours=24, minutes=50)
print(lunar_day / 2)  # 12:25:00
\`\`\`
`
const inTerminal = `<think>Three, short ones.</think>1. It holds a boat to the shore.
2. It lifts what arms cannot, over a pulley.
3. It measures: with knots at 3, 4 and 5 lengths, it makes a right angle.`
const script = join(home, 'script.json')
writeFileSync(
  script,
  JSON.stringify([
    { match: 'tides', reply: { raw: answer, delayMs: 15 } },
    { match: 'rope', reply: { raw: inTerminal, delayMs: 20 } },
    { reply: { raw: 'A short answer to that, from a script.', delayMs: 20 } },
  ]),
)
const tiny = { id: 'dragoman-tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 4096, threads: 1 }
const thinks = join(root, 'test', 'support', 'page', 'thinks.jinja')
const example = { id: 'example', engine: 'fake', script, chatTemplate: thinks, contextLength: 32_768, aliases: ['default'] }
const models = [example, tiny, { id: 'other', engine: 'fake', script: 'from-request', slots: 1 }]
const server = await startDragoman(models)
const browser = await openBrowser()

async function keep(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length > largestBytes) throw new Error(`${name} has ${bytes.length} bytes, more than ${largestBytes}`)
  writeFileSync(join(folder, name), bytes)
  console.log(`docs/pictures/${name}: ${Math.round(bytes.length / 1000)} kB`)
}

async function chat(isDark: boolean): Promise<void> {
  const { page, close } = await openServerPage(browser, server.url, { width: 1200, height: 860, isDark, scale: 1.5 })
  await page.getByRole('combobox', { name: 'Model' }).waitFor()
  await write(page, question)
  await facts(page).waitFor()
  await answers(page)
    .getByText(/^Thought for/)
    .waitFor()
  await keep(page, `chat-${isDark ? 'dark' : 'light'}.webp`)
  await close()
}

async function activity(): Promise<void> {
  const ask = (path: string, body: object) =>
    fetch(server.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const messages = (content: string) => [{ role: 'user', content }]
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'dragoman-tiny', messages: messages('What is the capital of France?') }],
    ['/v1/messages', { model: 'example', max_tokens: 500, messages: messages('Why is the sky blue?') }],
    ['/api/chat', { model: 'dragoman-tiny', stream: false, messages: messages('What is the capital of Peru?') }],
    ['/v1/responses', { model: 'example', input: 'Say it again.' }],
    ['/v1/chat/completions', { model: 'unknown', messages: messages('Hello') }],
    ['/v1/chat/completions', { model: 'dragoman-tiny', messages: messages('What is the capital of Norway?') }],
  ] as const) {
    await (await ask(path, body)).text()
  }
  const { id } = (await (await ask('/v1/chat/completions', { model: 'example', messages: messages(question) })).json()) as {
    id: string
  }
  const leaving = new AbortController()
  const forever = { stream: true, model: 'other', messages: messages(JSON.stringify({ raw: 'word '.repeat(4000), delayMs: 40 })) }
  for (let count = 0; count < 2; count++) {
    void fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(forever),
      signal: leaving.signal,
    }).catch(() => undefined)
  }
  const { page, close } = await openServerPage(browser, `${server.url}/#/activity/${id}`, {
    width: 1200,
    height: 640,
    scale: 1.5,
  })
  await page.getByText('Where the time went').waitFor()
  await page.getByText('waiting 1st').waitFor({ timeout: 120_000 })
  await keep(page, 'activity.webp')
  leaving.abort()
  await close()
}

/** What a terminal shows after these lines, each of which waits for its last words. */
async function terminal(): Promise<void> {
  const env = { DRAGOMAN_SERVER: server.url, DRAGOMAN_HOME: home }
  const { enter, shows, styled, close } = openTerminal({ columns: 84, rows: 30, folder: root, env })
  try {
    enter(`dragoman() { ${process.execPath} dist/cli/program.js "$@"; }; clear`)
    enter('dragoman list')
    await shows('\n$\n')
    enter('dragoman run example')
    await shows('\n>')
    enter('Name three uses of a rope.')
    await shows('tokens/s')
    enter('/set temperature 0.2')
    await shows('0.2\n')
    enter('Tell me about knots.')
    await shows('from a script')
    await shows('>\n')
    const page = await (await browser.newContext({ viewport: { width: 780, height: 560 }, deviceScaleFactor: 1.5 })).newPage()
    await page.setContent(terminalPage(styled().trimEnd()))
    const { height } = (await page.locator('main').boundingBox()) ?? { height: 560 }
    await page.setViewportSize({ width: 780, height: Math.ceil(height) })
    await keep(page, 'terminal.webp')
  } finally {
    close()
  }
}

/** Text with the colours of a terminal, as a page. */
function terminalPage(text: string): string {
  const html = runsOf(text, 'color').map(({ text, style }) => `<span style="${style}">${escaped(text)}</span>`)
  return `<!doctype html><style>body{margin:0}main{box-sizing:border-box;width:780px;padding:20px 24px;background:${colours.ground};color:${colours.text}}
    pre{margin:0;font:14px/1.45 "DejaVu Sans Mono",monospace}</style><main><pre>${html.join('')}</pre></main>`
}

/** An agent whose second turn needs no second reading. */
async function agent(): Promise<void> {
  const { svg, lastText } = await filmAgent()
  if (svg.length > largestFilmBytes) throw new Error(`agent.svg has ${svg.length} bytes, more than ${largestFilmBytes}`)
  writeFileSync(join(folder, 'agent.svg'), svg)
  console.log(`docs/pictures/agent.svg: ${Math.round(svg.length / 1000)} kB\n${lastText}`)
}

const makers = { chat: () => chat(false).then(() => chat(true)), activity, terminal, agent }

try {
  mkdirSync(folder, { recursive: true })
  const wanted = process.argv.slice(2)
  for (const [name, make] of Object.entries(makers)) if (wanted.length === 0 || wanted.includes(name)) await make()
} finally {
  await browser.close()
  server.stop()
  rmSync(home, { recursive: true, force: true })
}

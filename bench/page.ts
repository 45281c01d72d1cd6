import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg } from 'node:os'
import { answers, facts, write } from '../test/support/page/chat-words.ts'
import { importLargeAnswer, importLongConversation, openLargeAnswer } from '../test/support/page/large-answer.ts'
import { type MainThread, watchMainThread } from '../test/support/page/main-thread.ts'
import { openManyRequests, scrollTable } from '../test/support/page/many-requests.ts'
import { openBrowser, openServerPage } from '../test/support/page/open-page.ts'
import { startDragoman } from './processes.ts'
import { printTable } from './report/report.ts'

/**
 * What the page's main thread does with ten thousand requests, and with a stream of 5,000 tokens per second, in a Chromium without a GPU;
 * and how long it takes to open a conversation of 100 messages, and of 1,000.
 *
 *   npm run bench:page
 */

const steps = 60
const tokensPerSecond = 5000
const streamSeconds = 4
const opensEach = 11

const server = await startDragoman([{ engine: 'fake', id: 'org/scripted', script: 'from-request', contextLength: 1_000_000 }])
const browser = await openBrowser()
const rows: string[][] = []

function note(
  name: string,
  { longTasksMs, workMs, scriptMs, layoutMs, styleMs }: MainThread,
  per: { count: number; unit: string },
) {
  const each = (ms: number) => (ms / per.count).toFixed(2)
  const longest = longTasksMs[0]
  rows.push([
    name,
    longest === undefined ? '< 50' : longest.toFixed(0),
    String(longTasksMs.length),
    `${each(workMs)} / ${per.unit}`,
    each(scriptMs),
    each(layoutMs),
    each(styleMs),
  ])
}

{
  const { page, close } = await openServerPage(browser, server.url)
  note('10,000 requests arrive', await watchMainThread(page, () => openManyRequests(page)), { count: 1, unit: 'all' })
  await close()
}
{
  const { page, close } = await openServerPage(browser, server.url)
  await openManyRequests(page)
  const far = () => scrollTable(page, { steps, px: 5000 })
  note('scroll by 156 rows a frame', await watchMainThread(page, far), { count: steps, unit: 'step' })
  await page.evaluate('document.querySelector(".table-room").scrollTop = 0')
  const near = () => scrollTable(page, { steps: 5 * steps, px: 200 })
  note('scroll by 6 rows a frame', await watchMainThread(page, near), { count: 5 * steps, unit: 'step' })
  await close()
}
{
  const paced = await pacedServer(server.url)
  const { page, close } = await openServerPage(browser, paced.url)
  await page.getByRole('combobox', { name: 'Model' }).waitFor()
  const stream = async () => {
    await write(page, 'Write')
    await answers(page).getByText('the end').waitFor({ timeout: 120_000 })
    await facts(page).waitFor()
  }
  note(`a stream of ${tokensPerSecond} tokens a second`, await watchMainThread(page, stream), { count: streamSeconds, unit: 's' })
  await close()
  paced.close()
}
{
  const { page, close } = await openServerPage(browser, server.url)
  await importLargeAnswer(page)
  note('a megabyte of Markdown', await watchMainThread(page, () => openLargeAnswer(page)), { count: 1, unit: 'all' })
  await close()
}
const opens = await timesToOpen([100, 1000])
await browser.close()
server.stop()
console.log(`load average ${loadavg()[0]?.toFixed(2)}; milliseconds of the main thread`)
printTable(['', 'longest task', 'tasks > 50 ms', 'work', 'script', 'layout', 'style'], rows)
printTable(
  ['the page opens with a conversation of', 'median time'],
  opens.map(({ count, times }) => [`${count} messages`, median(times)]),
)

/** Opens the page at the addresses of conversations of these lengths, by turns, until their last message is shown. */
async function timesToOpen(counts: readonly number[]) {
  const opened = []
  for (const count of counts) {
    const { page, close } = await openServerPage(browser, server.url)
    await importLongConversation(page, count)
    await page.getByRole('link', { name: /^long/ }).click()
    opened.push({ count, page, close, times: [] as number[] })
  }
  for (let time = 0; time < opensEach; time++) {
    for (const { page, times } of opened) {
      await page.reload()
      await answers(page).getByText('the end').waitFor()
      times.push((await page.evaluate('performance.now()')) as number)
    }
  }
  for (const { close } of opened) await close()
  return opened
}

function median(values: readonly number[]): string {
  return `${[...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]?.toFixed(0)} ms`
}

/** In front of a server: answers chats itself, with this many tokens a second. */
async function pacedServer(behind: string): Promise<{ readonly url: string; close(): void }> {
  const front = createServer((incoming, reply) => {
    if (incoming.url === '/v1/chat/completions') {
      incoming.resume()
      reply.writeHead(200, { 'content-type': 'text/event-stream' })
      const beganMs = performance.now()
      let sent = 0
      const timer = setInterval(() => {
        const due = Math.min(tokensPerSecond * streamSeconds, (tokensPerSecond * (performance.now() - beganMs)) / 1000)
        let events = ''
        for (; sent < due; sent++) events += event(sent % 40 === 39 ? 'end.\n\n' : `word${sent} `)
        reply.write(events)
        if (sent < tokensPerSecond * streamSeconds) return
        clearInterval(timer)
        reply.end(`${event('the end', 'stop')}data: [DONE]\n\n`)
      }, 2)
      return
    }
    const headers = { ...incoming.headers, host: new URL(behind).host }
    const outgoing = request(behind + incoming.url, { method: incoming.method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    incoming.pipe(outgoing.on('error', () => reply.destroy()))
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const close = () => {
    front.close()
    front.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`, close }
}

function event(content: string, finish: string | null = null): string {
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'org/scripted' }
  return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`
}

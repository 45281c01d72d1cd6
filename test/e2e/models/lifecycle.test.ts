import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { dataOf, openChat } from '../../support/http/raw-client.ts'
import { randomModel } from '../../support/llama/models.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'

let app: RunningApp
beforeAll(async () => {
  const llama = { engine: 'llama' as const, source: await randomModel(), contextLength: 4096, threads: 1 }
  app = await startApp({
    models: [
      { ...llama, id: 'one', slots: 1 },
      { ...llama, id: 'two', slots: 2 },
    ],
  })
})
afterAll(() => app.close())

const endless = (model: string, text = 'go') => ({
  model,
  messages: [{ role: 'user', content: text }],
  stream: true,
  ignore_eos: true,
})
const busy = (model: string) => app.metric(`dragoman_slots_busy{model="${model}"}`)
const queued = (model: string) => app.metric(`dragoman_queue_depth{model="${model}"}`)
const content = (text: string) =>
  dataOf(text)
    .flatMap((chunk) => chunk.choices?.[0]?.delta.content ?? [])
    .join('')
const finishes = async (model: string) => {
  const reply = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 3 }),
  })
  return reply.status
}
/** The bound that the product promises, by the clock of a machine that does nothing else. */
const slotFreeMs = () => 250 * loadFactor()

describe('a client that disconnects', () => {
  test('while queued: its queue entry is freed, and the running request continues', async () => {
    const first = openChat(app.url, endless('one'))
    await first.untilContent()
    const second = openChat(app.url, endless('one'))
    await until(async () => (await queued('one')) === 1)
    second.hangUp()
    await until(async () => (await queued('one')) === 0, slotFreeMs())
    const before = content(first.text()).length
    await until(() => content(first.text()).length > before)
    first.hangUp()
    await until(async () => (await busy('one')) === 0, slotFreeMs())
  })

  test('while its prompt is read: the slot is free within 250 ms', async () => {
    const long = 'lorem ipsum dolor sit amet consectetur '.repeat(130)
    const stream = openChat(app.url, endless('one', long))
    await until(async () => (await busy('one')) === 1)
    stream.hangUp()
    await until(async () => (await busy('one')) === 0, slotFreeMs())
    expect(stream.text()).toBe('')
  })

  test('while it is answered: the slot is free within 250 ms', async () => {
    const stream = openChat(app.url, endless('one'))
    await stream.untilContent()
    stream.hangUp()
    await until(async () => (await busy('one')) === 0, slotFreeMs())
    expect(await finishes('one')).toBe(200)
  })

  test('of a reply that is not a stream: the slot is free as well', async () => {
    const stream = openChat(app.url, { ...endless('one'), stream: false })
    await until(async () => (await busy('one')) === 1)
    stream.hangUp()
    await until(async () => (await busy('one')) === 0, slotFreeMs())
  })
})

test('a client that disconnects with a second request pipelined frees its slot, and the second never runs', async () => {
  const { port } = new URL(app.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  for (const model of ['one', 'two']) {
    const body = JSON.stringify(endless(model))
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  }
  socket.resume()
  await until(async () => (await busy('one')) === 1)
  expect(await busy('two')).toBe(0)
  socket.destroy()
  await until(async () => (await busy('one')) === 0, slotFreeMs())
  expect(await busy('two')).toBe(0)
  // The one that asks.
  await until(async () => (await app.metric('dragoman_requests_in_flight')) === 1, 1000 * loadFactor())
})

describe('a worker that ends', () => {
  const pidOf = (model: string) => {
    const ready = app.logLines().filter((line) => line.msg === 'model is ready' && 'model' in line && line.model === model)
    return (ready.at(-1) as unknown as { workerPid: number }).workerPid
  }

  test('by a crash ends its streams with the content so far and one error, and restarts; other models continue', async () => {
    const doomed = openChat(app.url, endless('two'))
    const alsoDoomed = openChat(app.url, endless('two', 'another'))
    const other = openChat(app.url, endless('one'))
    await Promise.all([doomed, alsoDoomed, other].map((stream) => stream.untilContent()))
    const pid = pidOf('two')
    process.kill(pid, 'SIGSEGV')

    const models = await fetch(`${app.url}/v1/models`)
    expect(models.status).toBe(200)
    await Promise.all([doomed.ended, alsoDoomed.ended])
    for (const stream of [doomed, alsoDoomed]) {
      const events = dataOf(stream.text())
      expect(content(stream.text()).length).toBeGreaterThan(0)
      expect(events.filter((event) => event.error !== undefined)).toHaveLength(1)
      expect(events.at(-1)?.error?.message).toContain('SIGSEGV')
      expect(stream.text().endsWith('data: [DONE]\n\n')).toBe(true)
    }
    expect(await finishes('two')).toBe(200)
    expect(pidOf('two')).not.toBe(pid)

    const before = content(other.text()).length
    await until(() => content(other.text()).length > before)
    expect(dataOf(other.text()).some((event) => event.error !== undefined)).toBe(false)
    other.hangUp()
    await until(async () => (await busy('one')) === 0)
  })

  test('because it is killed from outside is missed by no reader: its streams go on where they were', async () => {
    const [limits, options] = [{ max_tokens: 200, temperature: 0 }, { stream_options: { include_usage: true } }]
    const whole = openChat(app.url, { ...endless('two'), ...limits, ...options })
    await whole.ended
    const cut = openChat(app.url, { ...endless('two'), ...limits, ...options })
    await cut.untilContent()
    const pid = pidOf('two')
    process.kill(pid, 'SIGKILL')
    await cut.ended
    expect(pidOf('two')).not.toBe(pid)
    expect(cut.text()).toContain('"completion_tokens":200')
    expect(content(cut.text())).toBe(content(whole.text()))
  })

  test('a request before the crash is detected is answered after the restart', async () => {
    process.kill(pidOf('two'), 'SIGKILL')
    expect(await finishes('two')).toBe(200)
  })

  test('a request during the restart is answered after it', async () => {
    process.kill(pidOf('two'), 'SIGKILL')
    await until(async () => ((await (await fetch(`${app.url}/v1/models/two`)).json()) as { state: string }).state !== 'ready')
    expect(await finishes('two')).toBe(200)
  })
})

test('no request was an error of the server', () => {
  expect(app.logLines().filter((line) => line.level >= 50 && !/SIGKILL|SIGSEGV/.test(JSON.stringify(line)))).toEqual([])
})

import { describe, expect, onTestFinished, test } from 'vitest'
import { measuredApp, megabyte, mib, pour, request, streamed } from '../support/process/measured.ts'
import { longestStallMs } from '../support/process/stall-bound.ts'
import { type Answer, chatChunk, doneLine, startUpstream, streamOf, usageChunk } from '../support/upstream/upstream.ts'

const fine = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)
const tools = [{ type: 'function', function: { name: 'g', parameters: { type: 'object' } } }]

const delta = (inner: string) => `data: {"choices":[{"index":0,"delta":{${inner}}}]}\n\n`

describe('a server that sends', () => {
  test.each<[string, Answer, Record<string, unknown>]>([
    [
      'objects that are no JSON together',
      streamed((response) => pour(response, 64, () => `${'{"index":0},'.repeat(90_000)}`)),
      {},
    ],
    [
      'a bomb of choices in one event',
      streamed(async (response) => {
        response.write('data: {"choices":[')
        await pour(response, 64, () => '{"index":0},'.repeat(90_000))
        response.write('{}]}\n\n')
      }),
      {},
    ],
    [
      '20,000 open calls',
      streamed((response) =>
        pour(response, 20_000, (index) =>
          delta(`"tool_calls":[{"index":${index},"id":"c${index}","function":{"name":"g","arguments":"{"}}]`),
        ),
      ),
      { tools },
    ],
    [
      'endless fragments of one call',
      streamed((response) =>
        pour(response, 600, () =>
          delta(`"tool_calls":[{"index":0,"function":{"name":"g","arguments":"${'x'.repeat(1 << 20)}"}}]`),
        ),
      ),
      { tools },
    ],
    ['an endless line that is no event', streamed((response) => pour(response, 600, () => megabyte)), {}],
    ['many tiny events', streamed((response) => pour(response, 10, () => delta('"content":""').repeat(20_000))), {}],
  ])('%s costs little and stalls nobody', async (_, answer, body) => {
    const server = await startUpstream(fine)
    onTestFinished(() => server.close())
    const app = await measuredApp(server)
    for (let turn = 0; turn < 3; turn++) await request(app.url, {})
    server.answer = answer
    await app.next()
    const before = (await app.next()).peakBytes
    const reply = await request(app.url, { stream: true, ...body })
    const { stallMs, peakBytes } = await app.next()
    expect(reply.text).toContain('upstream_failed')
    expect(server.seen.length).toBeLessThanOrEqual(5)
    expect((peakBytes - before) / mib).toBeLessThan(128)
    expect(stallMs).toBeLessThan(longestStallMs())
  })

  test.each([1, 15])('an event of %d MB of text is passed on', async (size) => {
    const server = await startUpstream(fine)
    onTestFinished(() => server.close())
    const app = await measuredApp(server)
    for (let turn = 0; turn < 3; turn++) await request(app.url, {})
    server.answer = streamed(async (response) => {
      response.write('data: {"choices":[{"index":0,"delta":{"content":"')
      await pour(response, size, () => megabyte)
      response.write(`"},"finish_reason":"stop"}]}\n\n${doneLine}`)
    })
    await app.next()
    const before = (await app.next()).peakBytes
    const reply = await request(app.url, { stream: true })
    const { stallMs, peakBytes } = await app.next()
    expect(reply.length).toBeGreaterThan(size * mib)
    expect(reply.text).toContain('[DONE]')
    expect((peakBytes - before) / mib).toBeLessThan(128)
    expect(stallMs).toBeLessThan(longestStallMs())
    const whole = await request(app.url, {})
    expect(whole.length).toBeGreaterThan(size * mib)
    const together = await app.next()
    expect(together.stallMs).toBeLessThan(longestStallMs())
  })

  test('failures of every kind, on one connection, leave no listeners', async () => {
    let turn = 0
    const failures: readonly Answer[] = [
      (_, response) => void response.socket?.destroy(),
      (_, response) => void response.writeHead(500).end('boom'),
      (_, response) => void response.writeHead(400).end('{"error":"no"}'),
      (_, response) => void response.writeHead(200).end('null'),
      streamed(async (response) => {
        response.write(delta('"content":"Hel"'))
        response.destroy()
      }),
      streamOf(delta('"content":"Hel"'), 'data: {"error":"boom"}\n\n'),
      fine,
      fine,
    ]
    const server = await startUpstream((...args) => (failures[turn++ % failures.length] ?? fine)(...args))
    onTestFinished(() => server.close())
    const app = await measuredApp(server)
    for (let count = 0; count < 40; count++) await request(app.url, { stream: count % 2 === 0 })
    expect((await app.next()).warnings).toEqual([])
    expect(turn).toBeGreaterThan(40)
  })

  test('a list of models of 40 MB is refused', async () => {
    const server = await startUpstream(fine)
    onTestFinished(() => server.close())
    server.get = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"data":[')
      void pour(response, 40, () => '{"id":"model"},'.repeat(70_000)).then(() => response.end('{}]}'))
      return true
    }
    const app = await measuredApp(server)
    await app.next()
    const before = (await app.next()).peakBytes
    const reply = await request(app.url, {})
    const { stallMs, peakBytes } = await app.next()
    expect(reply.status).toBe(503)
    expect(reply.length).toBeLessThan(5000)
    expect((peakBytes - before) / mib).toBeLessThan(128)
    expect(stallMs).toBeLessThan(longestStallMs())
  })
})

import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { largeText, readAll } from '../../../test/support/http/test-server.ts'
import { SseWriter } from './sse.ts'

type Given = Partial<ConstructorParameters<typeof SseWriter>[0]>

const hourMs = 3_600_000

/** A writer over a connection, how often it has sent its headers, what it has written to the socket, and the reply as the client gets it. */
async function open(given: Given = {}) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = get({ port: (server.address() as AddressInfo).port, agent: false }).on('error', () => undefined)
  const reply = once(asked, 'response').then(([response]) => response as IncomingMessage)
  // Some tests end without one.
  reply.catch(() => undefined)
  onTestFinished(() => {
    asked.destroy()
    server.close()
  })
  const [, raw] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const written: string[] = []
  const write = raw.write.bind(raw) as (text: string) => boolean
  raw.write = (text: string) => {
    written.push(text)
    return write(text)
  }
  const opened: number[] = []
  const writer = new SseWriter({
    raw,
    open: () => {
      opened.push(1)
      raw.writeHead(200)
    },
    heartbeat: () => ': \n\n',
    heartbeatMs: hourMs,
    stalledReaderMs: hourMs,
    now: () => performance.now(),
    ...given,
  })
  onTestFinished(() => writer.end())
  return { writer, raw, written, opened, asked, reply }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('a writer of a stream', () => {
  test('sends the text of a tick at once, and its headers before the first', async () => {
    const { writer, written, opened, reply } = await open()
    expect(writer.started).toBe(false)
    writer.write('')
    expect(writer.started).toBe(false)
    for (const text of ['one ', 'two ']) writer.write(text)
    expect([writer.started, written]).toEqual([true, []])
    await nextTurn()
    writer.write('three')
    await nextTurn()
    expect([written, opened]).toEqual([['one two ', 'three'], [1]])
    writer.end()
    expect(await readAll(await reply)).toBe('one two three')
  })

  test('sends much text before the tick ends', async () => {
    const { writer, written } = await open()
    writer.write('x'.repeat(16 * 1024 - 1))
    expect(written).toEqual([])
    writer.write('y')
    expect(written).toHaveLength(1)
  })

  test('holds text for the text that follows: alone it does not start the reply', async () => {
    const { writer, written } = await open()
    writer.hold('role ')
    await nextTurn()
    expect([writer.started, written]).toEqual([false, []])
    writer.write('text')
    await nextTurn()
    expect(written).toEqual(['role text'])
  })

  test('ends without a byte when it has not started, and with its headers when it has', async () => {
    const silent = await open()
    silent.writer.hold('held')
    silent.writer.end()
    expect([silent.raw.writableEnded, silent.opened]).toEqual([false, []])
    const { writer, reply } = await open()
    writer.start()
    writer.hold('held')
    writer.end()
    expect(await readAll(await reply)).toBe('held')
  })

  test('of a whole reply sends nothing before its end', async () => {
    const { writer, written, reply } = await open({ isWhole: true })
    writer.write('one ')
    writer.write('two')
    await nextTurn()
    expect([writer.started, written]).toEqual([false, []])
    writer.start()
    writer.end()
    expect(await readAll(await reply)).toBe('one two')
  })

  test('of lines sends each by itself', async () => {
    const { writer, written } = await open({ isInLines: true })
    writer.write('{"a":1}\n{"b":2}\n')
    writer.write('rest')
    await nextTurn()
    expect(written).toEqual(['{"a":1}\n', '{"b":2}\n', 'rest'])
  })

  test('sends nothing, not even headers, when the client has left', async () => {
    const { writer, raw, written, opened, asked } = await open()
    writer.write('late')
    raw.destroy()
    await nextTurn()
    writer.write('later')
    await nextTurn()
    writer.end()
    expect([written, opened]).toEqual([[], []])
    asked.destroy()
  })

  test('sends heartbeats while it is silent, which start the reply', async () => {
    let nowMs = 0
    const { writer, written } = await open({ heartbeatMs: 10, now: () => nowMs })
    nowMs = 10
    await until(() => written.length === 1)
    expect(written).toEqual([': \n\n'])
    nowMs = 19
    writer.write('text')
    await nextTurn()
    expect(written.at(-1)).toBe('text')
    // Of what was written last, not of the last heartbeat.
    nowMs = 28
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(written).toHaveLength(2)
    nowMs = 29
    await until(() => written.length === 3)
    expect(written.at(-1)).toBe(': \n\n')
  })

  test('waits for a reader that lags, without heartbeats, and disconnects one that takes nothing for long', async () => {
    let nowMs = 0
    const { writer, raw, written, reply } = await open({ heartbeatMs: 10, stalledReaderMs: 100, now: () => nowMs })
    expect(writer.waitForReader()).toBeUndefined()
    writer.write(largeText)
    const response = await reply
    response.on('error', () => undefined).pause()
    const waiting = writer.waitForReader()
    expect(waiting).toBeInstanceOf(Promise)
    nowMs = 99
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect([raw.destroyed, written.length]).toEqual([false, 1])
    nowMs = 100
    await waiting
    expect(raw.destroyed).toBe(true)
  })
})

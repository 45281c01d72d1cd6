import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  chatBody,
  largeText,
  oneText,
  openTestServer,
  openWatchedServer,
  readAll,
  receive,
  sendChat,
} from '../../../test/support/http/test-server.ts'
import { emitAll } from '../../base/emit.ts'
import type { Engine } from '../../contract/engine.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const stream = chatBody('go', { stream: true })

/** Emits as fast as events are taken. */
async function* flood(signal: AbortSignal): AsyncGenerator<EngineEvent> {
  for (;;) {
    signal.throwIfAborted()
    await new Promise(setImmediate)
    yield { type: 'raw-text', choice: 0, text: 'x'.repeat(1000) }
  }
}

const flooding: Engine = {
  ...createFakeEngine({ script: 'from-request' }),
  prepare: async () => ({ run: (signal, emit) => emitAll(flood(signal), emit) }),
}

/** The value of a counter that has not changed for 200 ms. */
async function untilStanding(read: () => number): Promise<number> {
  let last = -1
  for (let still = 0; still < 200; still++) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (read() !== last || last === 0) still = 0
    last = read()
  }
  return last
}

describe('a slow reader', () => {
  test('slows its own generation, with bounded memory', async () => {
    const { port, watched } = await openWatchedServer({ engine: flooding })
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${stream.length}\r\n\r\n${stream}`,
    )
    await watched.started()
    const standing = await untilStanding(() => watched.seen.events)
    // The kernel's buffers on both sides hold a few megabytes; ours must not grow beyond.
    expect(standing).toBeLessThan(20_000)
    socket.resume()
    while (watched.seen.events <= standing + 100) await once(socket, 'data')
    socket.destroy()
    expect(await watched.ended()).toEqual({ aborted: true })
  })

  test('that reads nothing is disconnected', async () => {
    const { port, watched, scheduler } = await openWatchedServer({ engine: flooding, heartbeatMs: () => 10, stalledReaderMs: 50 })
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${stream.length}\r\n\r\n${stream}`,
    )
    expect(await watched.ended()).toEqual({ aborted: true })
    expect(scheduler.load.busy).toBe(0)
    socket.destroy()
  })
})

describe('a complete reply that is not read', () => {
  test.each([true, false])('does not hold its connection forever, and does not count as success (stream: %s)', async (stream) => {
    const { app, listen, deps } = openTestServer({ engine: oneText(largeText), stalledReaderMs: 50 })
    const arrived = once(app.server, 'connection')
    const request = sendChat(await listen(), chatBody('x', { stream }))
    const [accepted] = await arrived
    const closed = once(accepted, 'close')
    const response = await receive(request)
    response.pause()
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
    response.destroy()
  })

  test('is a 499 when the client disconnects in the middle', async () => {
    const { app, listen, deps } = openTestServer({ engine: oneText(largeText) })
    const arrived = once(app.server, 'connection')
    const request = sendChat(await listen(), chatBody('x'))
    const [accepted] = await arrived
    // Not `once`, which fails with the connection's error.
    const closed = new Promise((resolve) => accepted.once('close', resolve))
    await receive(request)
    request.destroy()
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
  })

  test.each(['keep-alive', 'close'])('is a success when it is read (connection: %s)', async (connection) => {
    const { listen, deps } = openTestServer({ engine: oneText(largeText) })
    const response = await receive(sendChat(await listen(), chatBody('x'), { headers: { connection } }))
    await readAll(response)
    await expect.poll(() => deps.metrics.render()).toContain('{route="/v1/chat/completions",status="200"} 1')
  })
})

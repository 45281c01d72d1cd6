import { expect, test } from 'vitest'
import { chatBody, openTestServer, readAll, readUntil, receive, sendChat } from '../../../test/support/http/test-server.ts'
import type { LoadPlace, SchedulerRequest } from '../../contract/scheduler.ts'
import { FairScheduler } from '../../core/schedule/fair-scheduler.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

/** A server whose model is what the test says, until it is ready. */
async function openLoading(...places: readonly LoadPlace[]) {
  const engine = createFakeEngine({ script: 'from-request' })
  const scheduler = new FairScheduler({ slots: 2, maxQueued: 2, engine })
  let place: LoadPlace | undefined = places[0]
  let becomeReady: () => void = () => undefined
  const isReady = new Promise<void>((resolve) => {
    becomeReady = () => {
      place = undefined
      resolve()
    }
  })
  let tellEntered: () => void = () => undefined
  const entered = new Promise<void>((resolve) => {
    tellEntered = resolve
  })
  const enter = (request: SchedulerRequest) => {
    const ticket = scheduler.enter(request)
    const ready = async () => {
      request.onLoading?.(() => place)
      tellEntered()
      await isReady
    }
    return { ...ticket, ready }
  }
  const gated = { load: scheduler.load, enter, whenIdle: (signal: AbortSignal) => scheduler.whenIdle(signal) }
  const { listen } = openTestServer({
    engine,
    heartbeatMs: () => 20,
    served: () => ({ id: 'org/fake', engine, scheduler: gated }),
  })
  const show = (next: LoadPlace) => {
    place = next
  }
  return { port: await listen(), show, entered, becomeReady: () => becomeReady() }
}

test('heartbeats of a stream that waits for its model say what for, and how far that is', async () => {
  const server = await openLoading({ state: 'waiting-for-memory' })
  const reply = await receive(sendChat(server.port, chatBody('hello', { stream: true })))
  expect(reply.headers['x-dragoman-model-state']).toBe('waiting-for-memory')
  expect(await readUntil(reply, '\n\n')).toBe(': model-state=waiting-for-memory\n: \n\n')
  server.show({ state: 'loading', progress: 0.421 })
  expect(await readUntil(reply, 'loading progress=0.42\n')).toContain(': model-state=loading progress=0.42\n')
  server.becomeReady()
  expect(await readAll(reply)).toContain('hello')
})

test('a reply that is not streamed says in its header that it had to wait for its model', async () => {
  const server = await openLoading({ state: 'loading', progress: 0 })
  const sent = receive(sendChat(server.port, chatBody('hello')))
  await server.entered
  server.becomeReady()
  expect((await sent).headers['x-dragoman-model-state']).toBe('loading')
})

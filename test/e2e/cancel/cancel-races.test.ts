import type { ClientRequest } from 'node:http'
import { expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { chatBody, openWatchedServer, readAll, receive, sendChat } from '../../support/http/test-server.ts'

const endless = { raw: 'late', delayMs: 3_600_000 }

async function cancel(port: number, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/api/inference/cancel`, { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

/** Hangs up: at once, when the request is sent, or a turn later. */
async function leave(request: ClientRequest, index: number): Promise<void> {
  const closed = new Promise((resolve) => request.once('close', resolve))
  if (index % 3 === 0) request.destroy()
  else if (index % 3 === 1) request.once('finish', () => request.destroy())
  else request.once('finish', () => setImmediate(() => request.destroy()))
  await closed
}

test('C21: of 2000 cancels that race with the start of their run, none is lost', async () => {
  const { port, deps } = await openWatchedServer({ slots: 64, maxQueued: 64 })
  const race = async (index: number) => {
    const body = chatBody(endless, { cancel_id: `run-${index}` })
    const send = () => sendChat(port, body, { agent: false })
    const stop = () => cancel(port, { cancel_id: `run-${index}` })
    const [request] = index % 2 === 0 ? [send(), stop()] : [await stop().then(send)]
    await readAll(await receive(request))
  }
  for (let from = 0; from < 2000; from += 40) await Promise.all(Array.from({ length: 40 }, (_, index) => race(from + index)))
  expect([deps.cancellations.size, deps.cancellations.earlySize]).toEqual([0, 0])
})

test('C15, C16: 1000 requests whose clients leave, at any time, leave nothing behind', async () => {
  const { port, deps, scheduler } = await openWatchedServer({ slots: 8, maxQueued: 1000 })
  for (let from = 0; from < 1000; from += 50) {
    const requests = Array.from({ length: 50 }, (_, index) =>
      sendChat(port, chatBody(endless, { cancel_id: `run-${from + index}`, session_id: 's', stream: index % 2 === 0 }), {
        agent: false,
      }),
    )
    await Promise.all(requests.map(leave))
  }
  await until(() => deps.cancellations.size === 0)
  expect(deps.cancellations.earlySize).toBe(0)
  expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
})

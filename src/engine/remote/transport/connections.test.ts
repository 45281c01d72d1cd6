import { expect, onTestFinished, test, vi } from 'vitest'
import { closedAfterwards, fine, never, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { UpstreamClient } from './client.ts'

test('health checks of 40 seconds apart share a connection, where the server keeps it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = await upstream(fine)
  server.get = (_, response) => {
    // Without a time for which the server keeps it.
    response.setHeader('connection', 'keep-alive')
    response.end()
    return true
  }
  const client = closedAfterwards(new UpstreamClient({ connections: 1 }))
  const endpoint = { id: 'a', url: server.url, weight: 1 }
  const check = async () => {
    await client.touch(endpoint, { path: '/health', fromRoot: true }, never)
    await new Promise(setImmediate)
  }
  await check()
  await vi.advanceTimersByTimeAsync(44_000)
  await check()
  expect(server.accepted()).toBe(1)
  await vi.advanceTimersByTimeAsync(70_000)
  await check()
  expect(server.accepted()).toBe(2)
})

test.each([
  { name: 'that the server closes at that moment is repeated on a new one', closes: 1, ends: 'fine', accepted: 2 },
  { name: 'that breaks again has failed', closes: 2, ends: /cannot be reached/, accepted: 2 },
])('a check on a connection $name', async ({ closes, ends, accepted }) => {
  const server = await upstream(fine)
  let left = 0
  server.get = (_, response) => {
    left -= 1
    if (left >= 0) response.socket?.destroy()
    else response.end()
    return true
  }
  const client = closedAfterwards(new UpstreamClient({ connections: 1 }))
  const check = () => client.touch({ id: 'a', url: server.url, weight: 1 }, { path: '/health', fromRoot: true }, never)
  await check()
  await new Promise(setImmediate)
  left = closes
  const end = await check().then(
    () => 'fine',
    (error: Error) => error.message,
  )
  expect(end).toMatch(ends)
  expect(server.accepted()).toBe(accepted)
})

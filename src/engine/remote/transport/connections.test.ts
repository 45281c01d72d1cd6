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

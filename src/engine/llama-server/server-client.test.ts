import { expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { askFacts, askHealth } from './server-client.ts'

/** Another program on the port, whose replies have no end; counts the megabytes that are read of them. */
async function startEndless() {
  let sent = 0
  const { origin, close } = await listenOnLoopback((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 20, ' '))) sent += 1
      response.once('drain', more)
    }
    response.once('error', () => undefined)
    more()
  })
  onTestFinished(close)
  return { endpoint: { url: origin, apiKey: 'k', model: 'm' }, sent: () => sent }
}

test("asking for a server's health reads only the status of the reply", async () => {
  const { endpoint, sent } = await startEndless()
  expect(await askHealth(endpoint)).toBe('ready')
  expect(sent()).toBeLessThan(64)
})

test('facts without an end are not read to their end', async () => {
  const { endpoint, sent } = await startEndless()
  await expect(askFacts(endpoint)).rejects.toThrow('the reply to /v1/models has more than 16777216 bytes')
  expect(sent()).toBeLessThan(128)
})

import { expect, onTestFinished, test } from 'vitest'
import { measuredApp, request } from '../support/measured.ts'
import { startUpstream } from '../support/upstream.ts'

const prompt = 'lorem ipsum dolor '.repeat(2000)
const reply = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})

test('requests are collected as soon as they have ended, also after a full collection', { timeout: 120_000 }, async () => {
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(reply)
  })
  onTestFinished(() => upstream.close())
  const app = await measuredApp(upstream)
  const send = async (count: number) => {
    const client = async () => {
      for (let sent = 0; sent < count / 8; sent++) {
        upstream.seen.length = 0
        const { status } = await request(app.url, { messages: [{ role: 'user', content: prompt }] })
        expect(status).toBe(200)
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
  }
  await send(400)
  // Ends with a full collection.
  await app.next()
  await send(4000)
  expect((await app.next()).fullCollections).toBe(0)
})

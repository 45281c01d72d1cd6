import { expect, onTestFinished, test } from 'vitest'
import { measuredApp } from '../support/process/measured.ts'
import { startUpstream } from '../support/upstream/upstream.ts'

const prompt = 'lorem ipsum dolor '.repeat(2000)
const reply = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})
const messages = [{ role: 'user', content: prompt }]

test.each<{ name: string; path: string; body: Record<string, unknown> }>([
  { name: 'Chat Completions', path: '/v1/chat/completions', body: { messages } },
  { name: 'streamed Chat Completions', path: '/v1/chat/completions', body: { messages, stream: true } },
  { name: 'Messages', path: '/v1/messages', body: { messages, max_tokens: 8 } },
  { name: 'streamed Responses', path: '/v1/responses', body: { input: prompt, stream: true, store: false } },
])(
  '$name are collected as soon as they have ended, also after a full collection',
  { timeout: 120_000 },
  async ({ path, body }) => {
    const upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(reply)
    })
    onTestFinished(() => upstream.close())
    const app = await measuredApp(upstream)
    const sent = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    }
    const send = async (count: number) => {
      const client = async () => {
        for (let done = 0; done < count / 8; done++) {
          upstream.seen.length = 0
          const response = await fetch(app.url + path, sent)
          expect(await response.text()).toContain('yes')
          expect(response.status).toBe(200)
        }
      }
      await Promise.all(Array.from({ length: 8 }, client))
    }
    await send(400)
    // Ends with a full collection.
    await app.next()
    await send(4000)
    expect((await app.next()).fullCollections).toBe(0)
  },
)

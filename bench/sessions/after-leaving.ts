import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gatewaysOf } from '../gateways.ts'

// The tokens that a server still generates after the client of a gateway in front of it has left: of streams that are left after ten tokens,
// and of replies that are not streamed, which are left after as long.
//   npm run build && npx tsx bench/sessions/after-leaving.ts

const tokens = 400
const everyMs = 10
const leaveAfterMs = 100
const clients = 20

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

let generated = 0
/** Generates like an engine: until its client leaves. */
const upstream = createServer((request, response) => {
  let text = ''
  request.on('data', (bytes) => {
    text += bytes
  })
  request.on('end', async () => {
    if (request.method === 'GET') return response.end('{"object":"list","data":[{"id":"up","object":"model"}]}')
    const { stream = false } = JSON.parse(text)
    const count = text.includes('long story') ? tokens : 1
    if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let index = 0; index < count && !response.destroyed; index++) {
      await pause(everyMs)
      if (response.destroyed) return
      generated += 1
      if (stream) response.write(chunk({ role: 'assistant', content: 'word ' }, null))
    }
    if (stream) return response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
    const message = { role: 'assistant', content: 'word '.repeat(count) }
    const usage = { prompt_tokens: 1, completion_tokens: count, total_tokens: count + 1 }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'up', choices, usage }))
  })
})
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

/** The tokens for one client that leaves, from then until nothing more is generated. */
async function afterLeaving(url: string, stream: boolean): Promise<number> {
  const leaving = new AbortController()
  const body = JSON.stringify({ model: 'up', stream, messages: [{ role: 'user', content: 'A long story.' }] })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: leaving.signal }
  const begun = generated
  const asked = fetch(`${url}/v1/chat/completions`, init).then((reply) => reply.text())
  while (generated === begun) await pause(5)
  await pause(leaveAfterMs)
  leaving.abort()
  const left = generated
  await asked.catch(() => undefined)
  for (let last = -1; last !== generated; ) {
    last = generated
    await pause(50 * everyMs)
  }
  return generated - left
}

for (const { name, start } of gatewaysOf([]).filter((gateway) => gateway.name !== 'bare proxy')) {
  const gateway = await start(address).catch((error: unknown) => error as Error)
  if (gateway instanceof Error) {
    console.log(`${name}: ${gateway.message}`)
    continue
  }
  for (const stream of [true, false]) {
    const counts: number[] = []
    for (let client = 0; client < clients; client++) counts.push(await afterLeaving(gateway.url, stream))
    const sum = counts.reduce((total, count) => total + count, 0)
    console.log(
      `${name}, ${stream ? 'streams' : 'whole replies'}: ${sum} tokens after ${clients} clients left, at most ${Math.max(...counts)}`,
    )
  }
  gateway.stop()
}
upstream.close()

import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { listen } from './listen.ts'

/**
 * A stand-in for a model server: sends the given number of chunks, with a delay between them or all at once, or a whole reply at once to
 * a request that asks for no stream. Each chunk contains its send time by the machine's monotonic clock. Several processes can answer at one port.
 */
const [events = '200', delayMs = '0', processes = '1'] = process.argv.slice(2)

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`
const text = () => chunk({ content: `@${process.hrtime.bigint()}@` })
const tail = `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [], usage: { prompt_tokens: 5, completion_tokens: Number(events), total_tokens: 5 + Number(events) } })}\n\ndata: [DONE]\n\n`

const whole = JSON.stringify({
  id: 'chatcmpl-up',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word' }, logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})
const models = '{"object":"list","data":[{"id":"up","object":"model","owned_by":"bench"}]}'
/** What gateways ask before they send a request; SMG asks for the last two. */
const facts: Readonly<Record<string, string>> = {
  '/v1/models': models,
  '/health': '{"status":"ok"}',
  '/get_model_info': '{"model_path":"up","is_generation":true}',
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const fact = facts[request.url ?? '']
    response.writeHead(fact === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(fact ?? '{}')
    return
  }
  let isStreamed = false
  // Long bodies come in pieces, which may end anywhere.
  let last = ''
  request.on('data', (piece: Buffer) => {
    if (isStreamed) return
    const seen = last + piece.toString('latin1')
    isStreamed = /"stream": ?true/.test(seen)
    last = seen.slice(-20)
  })
  request.once('end', () => {
    if (!isStreamed) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(whole) })
      response.end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let left = Number(events)
    const next = () => {
      if (response.destroyed) return
      response.write(text())
      left -= 1
      if (left > 0) schedule()
      else response.end(tail)
    }
    const schedule = () => (delayMs === '0' ? setImmediate(next) : setTimeout(next, Number(delayMs)))
    schedule()
  })
})

if (cluster.isPrimary && Number(processes) > 1) {
  for (let started = 0; started < Number(processes); started++) cluster.fork()
  // All listen at the same port.
  cluster.once('message', (_, message) => process.send?.(message))
} else listen(server)

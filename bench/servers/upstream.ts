import { createServer } from 'node:http'
import { listen } from './listen.ts'

/**
 * A stand-in for a model server: sends the given number of chunks, with a delay between them or all at once. Each contains its send
 * time by the machine's monotonic clock.
 */
const [events = '200', delayMs = '0'] = process.argv.slice(2)

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`
const text = () => chunk({ content: `@${process.hrtime.bigint()}@` })
const tail = `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [], usage: { prompt_tokens: 5, completion_tokens: Number(events), total_tokens: 5 + Number(events) } })}\n\ndata: [DONE]\n\n`

const server = createServer((request, response) => {
  request.resume()
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"object":"list","data":[{"id":"up","object":"model","owned_by":"bench"}]}')
    return
  }
  request.once('end', () => {
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

listen(server)

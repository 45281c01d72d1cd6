import { createServer } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listen } from './listen.ts'
import { scriptedChunks } from './scripted.ts'

/** The minimum for a Node server: reads the body and sends the bytes that Dragoman would send. */
const chunks = scriptedChunks(Number(process.argv[2]))
/** The fake engine yields to the event loop after as many events. */
const eventsPerTurn = 64
const head =
  '{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1795246744,"model":"scripted","system_fingerprint":"dragoman-0.1.0","choices":['
const frame = (choice: object) => `data: ${head}${JSON.stringify(choice)}]}\n\n`
const delta = (fields: object) => frame({ index: 0, delta: fields, logprobs: null, finish_reason: null })
const frames = [
  delta({ role: 'assistant', content: '' }),
  ...chunks.map((content) => delta({ content })),
  frame({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }),
  'data: [DONE]\n\n',
]
const whole = JSON.stringify({
  id: 'chatcmpl-0123456789abcdef0123456789abcdef',
  object: 'chat.completion',
  created: 1_795_246_744,
  model: 'scripted',
  system_fingerprint: 'dragoman-0.1.0',
  choices: [
    { index: 0, message: { role: 'assistant', content: chunks[0], refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  usage: {
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
})

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', async () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as { stream: boolean }
    if (!body.stream) {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(whole) })
      response.end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    for (const [index, text] of frames.entries()) {
      response.write(text)
      if (index % eventsPerTurn === eventsPerTurn - 1) await nextTurn()
    }
    response.end()
  })
})

listen(server)
